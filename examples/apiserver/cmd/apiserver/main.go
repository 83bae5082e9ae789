// Command apiserver runs the reference API server until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until ctx is done. Its first line of output is the address.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	set := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	set.SetOutput(out)
	o := apiserver.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	var connect etcd.ConnectOptions
	set.StringVar(&o.Address, "listen", "127.0.0.1:8001", "`address` to listen on")
	set.StringVar(&o.Dir, "data-dir", "", "`directory` in which the embedded etcd keeps its data (default a temporary one)")
	set.DurationVar(&o.CompactEvery, "compact-every", 5*time.Minute,
		"how much history to keep in etcd: after each such time it is cut at the version of one time before; negative: never")
	set.Func("etcd-servers", "`addresses` of the members of an etcd to use instead of the embedded one, with commas between", func(s string) error {
		connect.Endpoints = strings.Split(s, ",")
		return nil
	})
	set.StringVar(&connect.CAFile, "etcd-cafile", "", "`file` with the certificates that sign those of --etcd-servers")
	set.StringVar(&connect.CertFile, "etcd-certfile", "", "`file` with the certificate to show to --etcd-servers")
	set.StringVar(&connect.KeyFile, "etcd-keyfile", "", "`file` with the key of --etcd-certfile")
	if err := set.Parse(args); err != nil {
		return err
	}
	if connect.Endpoints != nil {
		if o.Etcd, err = etcd.Connect(ctx, connect); err != nil {
			return err
		}
		defer func() { _ = o.Etcd.Close() }()
	} else if connect.CAFile+connect.CertFile+connect.KeyFile != "" {
		return errors.New("--etcd-cafile, --etcd-certfile and --etcd-keyfile are for --etcd-servers")
	}
	server, err := apiserver.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if _, err := fmt.Fprintln(out, server.URL()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

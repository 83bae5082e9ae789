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

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
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
	listen := set.String("listen", "127.0.0.1:8001", "address to listen on")
	dir := set.String("data-dir", "", "where the embedded etcd keeps its data; a temporary directory when empty")
	servers := set.String("etcd-servers", "", "endpoints of an etcd to use instead of the embedded one, with commas between")
	if err := set.Parse(args); err != nil {
		return err
	}
	o := apiserver.Options{Address: *listen, Dir: *dir, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	if *servers != "" {
		client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(*servers, ",")})
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		o.Etcd = client
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

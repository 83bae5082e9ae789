// Command apiserver runs the reference API server until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth/tokens"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/etcd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(70) // most of the heap are caches, which stay: a peak is rather lower than collections are fewer
	}
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// flags are what the command line says, beside the options.
type flags struct {
	options  apiserver.Options
	secure   apiserver.Secure
	connect  etcd.ConnectOptions
	insecure bool
	nodes    []string
}

// run serves until ctx is done. Its first line of output is the address; then come the kubeconfigs.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	f, err := parse(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	o := f.options
	if !f.insecure {
		o.Secure = &f.secure
	}
	if f.connect.Endpoints != nil {
		if o.Etcd, err = etcd.Connect(ctx, f.connect); err != nil {
			return err
		}
		defer func() { _ = o.Etcd.Close() }()
	}
	server, err := apiserver.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if err := tell(out, server, f); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// parse reads the command line.
func parse(args []string, out io.Writer) (flags, error) {
	set := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	set.SetOutput(out)
	set.Usage = func() { usage(set, out) }
	var f flags
	operationFlags(set, &f.options)
	set.StringVar(&f.options.Address, "listen", "127.0.0.1:6443", "`address` to listen on")
	set.StringVar(&f.options.Dir, "data-dir", "",
		"`directory` in which the embedded etcd keeps its data, and the server its keys in pki (default a temporary one)")
	set.DurationVar(&f.options.CompactEvery, "compact-every", 5*time.Minute,
		"how much history to keep in etcd: after each such time it is cut at the version of one time before; negative: never")
	set.Func("service-cluster-ip-range", "`range` that services get their addresses from (default 10.96.0.0/16)", func(s string) (err error) {
		f.options.ServiceIPs, err = netip.ParsePrefix(s)
		return err
	})
	list(set, &f.connect.Endpoints, "etcd-servers", "`addresses` of the members of an etcd to use instead of the embedded one")
	set.StringVar(&f.connect.CAFile, "etcd-cafile", "", "`file` with the certificates that sign those of --etcd-servers")
	set.StringVar(&f.connect.CertFile, "etcd-certfile", "", "`file` with the certificate to show to --etcd-servers")
	set.StringVar(&f.connect.KeyFile, "etcd-keyfile", "", "`file` with the key of --etcd-certfile")
	set.StringVar(&f.options.Storage.Root, "etcd-prefix", "/registry", "`beginning` of all keys in etcd")
	set.BoolVar(&f.insecure, "insecure-http", false,
		"speak plain HTTP and let everybody do everything; --listen must be a loopback address then")
	set.StringVar(&f.secure.Dir, "cert-dir", "",
		"`directory` for the server's own authority, certificates, keys and kubeconfigs, which are made when they are not there (default pki in --data-dir)")
	list(set, &f.secure.Hosts, "tls-hosts", "further `names` and addresses that the server's certificate is for")
	set.StringVar(&f.secure.TokenFile, "token-auth-file", "",
		`CSV `+"`file`"+` of tokens to let in, a line each: token,user,uid,"group1,group2"`)
	set.StringVar(&f.secure.Issuer, "service-account-issuer", tokens.DefaultIssuer, "`name` of who signs the tokens of service accounts")
	list(set, &f.secure.Audiences, "api-audiences", "`audiences` that tokens for this server must be for (default the issuer)")
	list(set, &f.nodes, "kubelets", "`nodes` whose kubelets get a kubeconfig too")
	mode := set.String("authorization-mode", "", "`mode`: RBAC, users may do what roles and bindings say, and nodes what concerns them; or "+
		"AlwaysAllow, all may do everything (default RBAC, but AlwaysAllow with --insecure-http)")
	if err := set.Parse(args); err != nil {
		return flags{}, err
	}
	switch *mode {
	case "", "RBAC", "AlwaysAllow":
		f.options.RBAC = *mode == "RBAC" || *mode == "" && !f.insecure
	default:
		return flags{}, fmt.Errorf("--authorization-mode: there is no %q: RBAC or AlwaysAllow", *mode)
	}
	c := f.connect
	if c.Endpoints == nil && c.CAFile+c.CertFile+c.KeyFile != "" {
		return flags{}, errors.New("--etcd-cafile, --etcd-certfile and --etcd-keyfile are for --etcd-servers")
	}
	s := f.secure
	if f.insecure && (s.Dir+s.TokenFile != "" || s.Hosts != nil || f.nodes != nil) {
		return flags{}, errors.New("--cert-dir, --tls-hosts, --token-auth-file and --kubelets have no meaning with --insecure-http")
	}
	return f, nil
}

// list adds a flag for several values with commas between them.
func list(set *flag.FlagSet, to *[]string, name, usage string) {
	set.Func(name, usage+", with commas between", func(s string) error {
		*to = strings.Split(s, ",")
		return nil
	})
}

// tell writes how to reach the server.
func tell(out io.Writer, server *apiserver.Server, f flags) error {
	if _, err := fmt.Fprintln(out, server.URL()); err != nil || f.insecure {
		return err
	}
	path, err := server.Kubeconfig("admin", apiserver.Admin())
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "kubeconfig of the administrator:", path); err != nil {
		return err
	}
	for _, name := range f.nodes {
		if path, err = server.Kubeconfig("kubelet-"+name, auth.Node(name)); err != nil {
			return err
		}
		if _, _, err := server.KubeletCertificate(name); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, "kubeconfig of the kubelet of", name+":", path); err != nil {
			return err
		}
	}
	return nil
}

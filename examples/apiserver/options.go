package apiserver

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/benbjohnson/clock"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/cacher"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/crd"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Options say how to run a [Server]. The zero value works.
type Options struct {
	// Address is the TCP address to listen on. Defaults to "127.0.0.1:0", a free port.
	Address string
	// Dir is where the embedded etcd keeps its data. Defaults to a temporary directory that
	// goes with the server.
	Dir string
	// Etcd is a client of an etcd to use in place of the embedded one. It stays the caller's.
	// Defaults to the embedded etcd.
	Etcd *clientv3.Client
	// Storage are the options of the storage. Defaults to those of its zero value.
	Storage storage.Options
	// Cache are the options of the caches that lists and watches are served from, but for Stamp. Defaults to those
	// of its zero value.
	Cache cacher.Options
	// Kinds are the kinds to serve; Namespaces must be among them for the others to be created, and the kind of
	// package crd for those to be served that clients define. Defaults to kinds.Table() and that one.
	Kinds kinds.Kinds
	// Definitions of custom kinds are created at the start when they are not there. Defaults to none.
	Definitions []*crd.Definition
	// Namespaces are created at the start when they are not there. Defaults to "default".
	Namespaces []string

	// ServiceIPs is the range that services get their addresses from. Its first and last address are given to those
	// only who ask for them. Defaults to 10.96.0.0/16.
	ServiceIPs netip.Prefix

	// FutureWait is how long a read waits for a version that has not been reached. Defaults to
	// 3 s.
	FutureWait time.Duration
	// BookmarkEvery is the time between two bookmarks of a watch. Defaults to 1 min.
	BookmarkEvery time.Duration
	// WatchTimeout is the least time after which a watch ends whose client doesn't say; the
	// time is random below twice of it. Defaults to 30 min.
	WatchTimeout time.Duration
	// SlowWatch is how long the client of a watch may take to accept an event before its
	// connection is closed. It is real time, whatever Clock is. Defaults to 10 s.
	SlowWatch time.Duration
	// CompactEvery is the time between two compactions, each up to the revision of the one
	// before. Negative: never. Defaults to 5 min.
	CompactEvery time.Duration
	// Secure makes the server speak TLS and ask who sends a request. Nil: plain HTTP, on a loopback address alone, and
	// without an Authenticator everybody is trusted.
	Secure *Secure
	// Authenticator finds out who sends a request, on a secure server when neither a certificate nor a token tells it.
	// Defaults to nobody.
	Authenticator auth.Authenticator
	// RBAC lets users do what roles and bindings say, and nodes what concerns them; those that a cluster needs are created
	// at the start. Defaults to false: see Authorizer.
	RBAC bool
	// Authorizer decides what users may do, in place of RBAC. Nil: everything.
	Authorizer auth.Authorizer
	// ServiceAccounts has every pod run as a service account, which must be there: that named "default" unless the
	// pod names another. The server makes that of each of Namespaces. Defaults to false.
	ServiceAccounts bool
	// Limits are what clients may take before they are refused. Defaults to those of its zero value.
	Limits Limits
	// ShutdownDelay is how long Close goes on answering after the server has said that it is not ready, so that others
	// can take its place. Defaults to 0.
	ShutdownDelay time.Duration
	// Clock is the time. Defaults to the real one.
	Clock clock.Clock
	// Logger hears of failures. Defaults to nobody.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	if o.Kinds == nil {
		o.Kinds = append(kinds.Table(), crd.Kind())
	}
	if o.Namespaces == nil {
		o.Namespaces = []string{"default"}
	}
	if o.BookmarkEvery == 0 {
		o.BookmarkEvery = time.Minute
	}
	if o.WatchTimeout == 0 {
		o.WatchTimeout = 30 * time.Minute
	}
	if o.SlowWatch == 0 {
		o.SlowWatch = 10 * time.Second
	}
	if o.CompactEvery == 0 {
		o.CompactEvery = 5 * time.Minute
	}
	o.Limits = o.Limits.withDefaults()
	o.Clock = timing.Or(o.Clock)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Cache.Logger == nil {
		o.Cache.Logger = o.Logger
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	if o.Etcd != nil && o.Dir != "" {
		errs = append(errs, errors.New("apiserver: Dir is for the embedded etcd, and Etcd was given"))
	}
	if o.RBAC && o.Authorizer != nil {
		errs = append(errs, errors.New("apiserver: Authorizer is given in place of RBAC, not beside it"))
	}
	if p := o.ServiceIPs; p.IsValid() && p.Addr().BitLen()-p.Bits() < 2 {
		errs = append(errs, fmt.Errorf("apiserver: ServiceIPs %v has less than four addresses", p))
	}
	if o.FutureWait < 0 || o.BookmarkEvery < 0 || o.WatchTimeout < 0 || o.SlowWatch < 0 {
		errs = append(errs, errors.New("apiserver: FutureWait, BookmarkEvery, WatchTimeout and SlowWatch must not be negative"))
	}
	if o.ShutdownDelay < 0 {
		errs = append(errs, errors.New("apiserver: ShutdownDelay must not be negative"))
	}
	return errors.Join(append(errs, o.Limits.validate())...)
}

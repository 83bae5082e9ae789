// Package etcd runs an etcd server inside this process, or connects to one elsewhere. The client is of
// one kind, so that nothing behind it knows which it is.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// The ticks of the raft clock. A single member waits for its own election at each start, so
// they are short.
const (
	tickMilliseconds     = 20
	electionMilliseconds = 200
)

// Options say how to run the server. The zero value works.
type Options struct {
	// Dir is where the data is kept. Defaults to a temporary directory that Close removes; its
	// writes are not synced to the disk.
	Dir string
	// Logger hears what etcd logs. Defaults to nobody.
	Logger *zap.Logger
}

// Etcd is a running etcd server of one member that no other process can reach: it listens on
// no port. All methods are safe for concurrent use.
type Etcd struct {
	server *embed.Etcd
	client *clientv3.Client
	// wait is for the watches of a closed client.
	wait func()
	// remove are the directories that go with the server.
	remove []string
	close  func() error
}

// Start starts a server and blocks until it can be used or ctx is done.
func Start(ctx context.Context, o Options) (*Etcd, error) {
	e := &Etcd{}
	e.close = sync.OnceValue(e.shutdown)
	config, err := e.config(o)
	if err == nil {
		e.server, err = embed.StartEtcd(config)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("etcd: %w", err), e.Close())
	}
	select {
	case <-e.server.Server.ReadyNotify():
	case err = <-e.server.Err():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("etcd: start: %w", err), e.Close())
	}
	e.client, e.wait = newClient(e.server.Server)
	return e, nil
}

// Client returns a client that calls the server directly. It ends with the server.
func (e *Etcd) Client() *clientv3.Client { return e.client }

// Close stops the server, and removes its data when the directory was a temporary one. It
// blocks until everything has stopped. A second Close does nothing and returns the same.
func (e *Etcd) Close() error { return e.close() }

func (e *Etcd) shutdown() error {
	var errs []error
	if e.client != nil {
		// A client without a connection reports its own context, which Close has just ended.
		if err := e.client.Close(); !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
		e.wait()
	}
	if e.server != nil {
		e.server.Close()
	}
	for _, dir := range e.remove {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

func (e *Etcd) config(o Options) (*embed.Config, error) {
	// The path of a unix socket must be short, so it does not stand in the data directory.
	sockets, err := os.MkdirTemp("", "etcd")
	if err != nil {
		return nil, err
	}
	e.remove = append(e.remove, sockets)
	c := embed.NewConfig()
	c.Dir = o.Dir
	if c.Dir == "" {
		c.Dir = filepath.Join(sockets, "data")
		c.UnsafeNoFsync = true
	}
	logger := o.Logger
	if logger == nil {
		logger = zap.NewNop()
	}
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	peer := url.URL{Scheme: "unix", Path: filepath.Join(sockets, "peer")}
	c.ListenPeerUrls = []url.URL{peer}
	// The member's peer address is part of what it stores, so it is the same at each start.
	c.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "localhost:2380"}}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.ListenClientUrls = []url.URL{}
	c.EnableGRPCGateway = false
	c.TickMs, c.ElectionMs = tickMilliseconds, electionMilliseconds
	return c, nil
}

package proxy

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

// Options say how to [Run] a proxy. Cluster must be set; everything else has a default.
type Options struct {
	// Cluster is where services and endpoint slices are read, and events written.
	Cluster *kube.Cluster
	// Factory is what the informers are made of; Run runs it, so nobody else may. Defaults to one of the proxy's own.
	Factory *informer.Factory
	// ServiceIPs is the range of service addresses that is made local to this machine, for as long as the proxy runs; that
	// takes root on Linux. Defaults to none: the addresses are local already, such as those of 127.0.0.0/8.
	ServiceIPs netip.Prefix
	// NodeAddresses are where node ports are listened on. Defaults to 127.0.0.1.
	NodeAddresses []netip.Addr
	// DialTimeout is how long an endpoint may take to accept a connection before the next one is tried. Defaults to 1 s.
	DialTimeout time.Duration
	// IdleTimeout is how long the proxy remembers which endpoint a client's UDP packets go to when none comes. Defaults
	// to 1 min.
	IdleTimeout time.Duration
	// Retry is the time between two attempts to listen on an address that can't be had. Defaults to 2 s.
	Retry time.Duration
	// Clock is the time that session affinity and retries go by. Defaults to the real one.
	Clock clock.Clock
	// Logger hears what the proxy does. Defaults to [slog.Default].
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Factory == nil {
		o.Factory = &informer.Factory{}
	}
	if o.NodeAddresses == nil {
		o.NodeAddresses = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	}
	if o.DialTimeout == 0 {
		o.DialTimeout = time.Second
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = time.Minute
	}
	if o.Retry == 0 {
		o.Retry = 2 * time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.New()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func (o Options) validate() error {
	if o.Cluster == nil {
		return errors.New("proxy: Options.Cluster is missing")
	}
	for name, d := range map[string]time.Duration{"DialTimeout": o.DialTimeout, "IdleTimeout": o.IdleTimeout, "Retry": o.Retry} {
		if d < 0 {
			return fmt.Errorf("proxy: Options.%s is negative", name)
		}
	}
	return nil
}

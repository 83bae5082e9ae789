package leader

import (
	"errors"
	"log/slog"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Options say which lease it is about, and who wants it. Cluster, Namespace, Name and Identity must be set.
type Options struct {
	// Cluster is where the lease is.
	Cluster *kube.Cluster
	// Namespace and Name are the lease's. It is made when it isn't there.
	Namespace, Name string
	// Identity tells this candidate from all others. One that is started again under its old identity, when that has ended,
	// goes on at once.
	Identity string
	// LeaseDuration is how long others wait for a leader who isn't heard of. Defaults to 15 s.
	LeaseDuration time.Duration
	// RenewDeadline is how long a leader goes on without being answered. Defaults to two thirds of LeaseDuration.
	RenewDeadline time.Duration
	// RetryPeriod is the time between renewals, and between attempts that fail. Defaults to a fifth of RenewDeadline.
	RetryPeriod time.Duration
	// Clock is the time. Defaults to the real one.
	Clock clock.Clock
	// Logger hears who leads, and of failures. Defaults to nobody.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.LeaseDuration == 0 {
		o.LeaseDuration = 15 * time.Second
	}
	if o.RenewDeadline == 0 {
		o.RenewDeadline = o.LeaseDuration * 2 / 3
	}
	if o.RetryPeriod == 0 {
		o.RetryPeriod = o.RenewDeadline / 5
	}
	o.Clock = timing.Or(o.Clock)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	if o.Cluster == nil || o.Namespace == "" || o.Name == "" || o.Identity == "" {
		return errors.New("leader: Cluster, Namespace, Name and Identity must be set")
	}
	if o.LeaseDuration < time.Second || o.RenewDeadline >= o.LeaseDuration || o.RetryPeriod >= o.RenewDeadline || o.RetryPeriod <= 0 {
		return errors.New("leader: LeaseDuration must be 1 s at least and longer than RenewDeadline, and that longer than RetryPeriod")
	}
	return nil
}

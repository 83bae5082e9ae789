package scheduler

import (
	"errors"
	"log/slog"
	"time"

	"github.com/benbjohnson/clock"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/scheduler/placement"
	"github.com/seed3bce33ad/listwatch/informer"
)

// Options say how to run a scheduler. Cluster must be set.
type Options struct {
	// Cluster is where pods and nodes are.
	Cluster *kube.Cluster
	// Factory is where the informers come from; Run runs it. Defaults to one of its own.
	Factory *informer.Factory
	// Name is which pods it is for: those whose spec.schedulerName it is. Defaults to "default-scheduler".
	Name string
	// Profile is how it chooses among nodes that will do. Defaults to placement.Balanced.
	Profile placement.Profile
	// Workers is how many pods are bound at a time. Defaults to 16.
	Workers int
	// Backoff is how long a pod waits after the first attempt that failed; each further one doubles it, up to MaxBackoff.
	// They default to 1 s and 10 s.
	Backoff, MaxBackoff time.Duration
	// ParkTimeout is after how long a pod that fits nowhere is tried again though nothing has happened that might help.
	// Defaults to 5 min.
	ParkTimeout time.Duration
	// Clock is the time. Defaults to the real one.
	Clock clock.Clock
	// Logger hears of each pod that is bound, and of failures. Defaults to nobody.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = corev1.DefaultSchedulerName
	}
	if o.Workers == 0 {
		o.Workers = 16
	}
	if o.Backoff == 0 {
		o.Backoff = time.Second
	}
	if o.MaxBackoff == 0 {
		o.MaxBackoff = max(10*time.Second, o.Backoff)
	}
	if o.ParkTimeout == 0 {
		o.ParkTimeout = 5 * time.Minute
	}
	if o.Clock == nil {
		o.Clock = clock.New()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Factory == nil {
		o.Factory = &informer.Factory{Options: informer.Options{Logger: o.Logger}}
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	if o.Cluster == nil {
		errs = append(errs, errors.New("scheduler: Cluster is missing"))
	}
	if o.Profile != placement.Balanced && o.Profile != placement.RoundRobin {
		errs = append(errs, errors.New("scheduler: there is no such Profile"))
	}
	if o.Workers < 0 || o.Backoff < 0 || o.MaxBackoff < o.Backoff || o.ParkTimeout < 0 {
		errs = append(errs, errors.New("scheduler: Workers, Backoff and ParkTimeout must not be negative, nor MaxBackoff less than Backoff"))
	}
	return errors.Join(errs...)
}

// Package control is what the controllers of the reference system have in common.
//
// A controller is a package beside this one with a function New that is a [Make]: it asks for its informers, lets their
// changes add keys to a work queue, and returns a [Controller] whose Run works the queue off. The sample controller in
// examples/samplecontroller is the same in one file.
package control

import (
	"context"
	"log/slog"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

// Env is what a controller lives in. All fields must be set.
type Env struct {
	// Cluster is where it writes.
	Cluster *kube.Cluster
	// Factory is where it gets its informers from, by kube.Follow; others share them. The factory's owner runs it.
	Factory *informer.Factory
	// Clock is the time.
	Clock clock.Clock
	// Logger hears what it does, a line a deed at level Info, and of failures.
	Logger *slog.Logger
}

// Controller is a loop that brings the world in line with what is wanted.
type Controller struct {
	// Name is a word for logs and flags, such as "replicaset".
	Name string
	// Run blocks until ctx is done and its goroutines have ended. It waits for its informers by itself.
	Run func(ctx context.Context) error
}

// Make makes a controller; it returns an error when an informer can't be had.
type Make func(Env) (Controller, error)

// Package sides has the two sides' informers behind one type, fed from inside the process with
// pods that are decoded already.
//
// Both are fed in the same way, one event after the other through a channel of the same length,
// so that both pay for that. What a side does with what stands in the channel is its own affair:
// client-go's watch hands on one event at a time, this library's makes batches, though never of
// more than one read of an HTTP source would hold.
package sides

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/indexer"
)

// The names of the sides.
const (
	Listwatch         = "listwatch"
	ClientGo          = "client-go"
	ControllerRuntime = "controller-runtime"
	// Compact is this library with compact storage.
	Compact = "listwatch-compact"
	// Ordinary is this library's ordinary storage beside its compact one.
	Ordinary = "listwatch-ordinary"
)

// Backlog is the usual length of the channel between a source and its informer.
const Backlog = 1024

// batch is how many pods of 4 KB one read of 64 KiB holds.
const batch = 16

// side is what the sides do each in their own way.
type side interface {
	addIndex() error
	// addHandler returns what waits until the first list was told.
	addHandler(ctx context.Context, every bool, told func(*corev1.Pod)) (synced func(context.Context) error, err error)
	// run returns when ctx is done and nothing is left.
	run(ctx context.Context) error
	send(ctx context.Context, pod *corev1.Pod) error
}

// Informer is an informer of one side, with a source of its own. New makes one. Its methods are
// called by one goroutine.
type Informer struct {
	side  side
	waits []func(context.Context) error
	end   func() error
}

// New returns an informer whose source lists the pods, which it keeps, and has so long a backlog.
func New(name string, pods []corev1.Pod, backlog int) (*Informer, error) {
	switch name {
	case Listwatch:
		return &Informer{side: newOurs(pods, backlog, nil)}, nil
	case Compact:
		return &Informer{side: newOurs(pods, backlog, new(indexer.Compact))}, nil
	case ClientGo:
		return &Informer{side: newTheirs(pods, backlog)}, nil
	}
	return nil, fmt.Errorf("no informer of %q", name)
}

// AddIndex indexes the pods by node. It is called before Start.
func (i *Informer) AddIndex() error { return i.side.addIndex() }

// AddHandler has told called with the new state of each change, those of the first list included.
// Every: none may be left out; else the side may fold changes that the handler is too slow for, if
// it can.
func (i *Informer) AddHandler(ctx context.Context, every bool, told func(*corev1.Pod)) error {
	synced, err := i.side.addHandler(ctx, every, told)
	if err == nil {
		i.waits = append(i.waits, synced)
	}
	return err
}

// Start runs the informer until ctx is done or Stop is called, which must be.
func (i *Informer) Start(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	var err error
	group.Go(func() { err = i.side.run(ctx) })
	i.end = func() error {
		cancel()
		group.Wait()
		return err
	}
}

// Stop ends the informer and waits until nothing of it is left.
func (i *Informer) Stop() error { return i.end() }

// Synced blocks until every handler has been told what was there when it came.
func (i *Informer) Synced(ctx context.Context) error {
	for _, wait := range i.waits {
		if err := wait(ctx); err != nil {
			return fmt.Errorf("waiting for a handler to be synced: %w", err)
		}
	}
	return nil
}

// Send lets the source tell a newer state of a pod. It blocks while the backlog is full.
func (i *Informer) Send(ctx context.Context, pod *corev1.Pod) error { return i.side.send(ctx, pod) }

func node(pod *corev1.Pod) string { return pod.Spec.NodeName }

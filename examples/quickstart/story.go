package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// story changes the server's pods in several ways and has the loop follow.
func (d *demo) story(ctx context.Context, server *apiserver.Server, writer *api, loaded int) error {
	for range loaded {
		select {
		case <-d.seen:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	fmt.Fprintf(d.out, "the copy is complete: %d pods\n", d.pods.Indexer().Len())
	for _, node := range slices.Sorted(d.byNode.Values()) {
		fmt.Fprintf(d.out, "  %d on %q\n", d.byNode.Len(node), node)
	}

	fmt.Fprintln(d.out, "a pod is labelled, another deleted")
	if err := d.label(ctx, writer, "multi-container"); err != nil {
		return err
	}
	if err := d.delete(ctx, writer, "completed"); err != nil {
		return err
	}

	fmt.Fprintln(d.out, "the connection is cut")
	server.CutConnections()
	if err := d.label(ctx, writer, "host-network"); err != nil {
		return err
	}

	fmt.Fprintln(d.out, "the network is down; meanwhile a pod is deleted, another labelled, and the history dropped")
	d.network.down.Store(true)
	server.CutConnections()
	if err := writer.delete(ctx, "crashloop"); err != nil {
		return err
	}
	version, err := writer.label(ctx, "volumes")
	if err == nil {
		err = server.Compact(ctx)
	}
	if err != nil {
		return err
	}
	d.network.down.Store(false)
	// Listed first, then what vanished unseen.
	if err := d.await(ctx, "volumes "+version); err != nil {
		return err
	}
	if err := d.await(ctx, "crashloop gone"); err != nil {
		return err
	}
	if d.expired.Load() == 0 {
		return errors.New("the server did not say that its history is gone")
	}
	fmt.Fprintln(d.out, "the server had said 410, and the pods were listed again")
	return d.compare(ctx, writer)
}

// label changes a pod and waits until the loop has worked on it.
func (d *demo) label(ctx context.Context, writer *api, name string) error {
	version, err := writer.label(ctx, name)
	if err != nil {
		return err
	}
	return d.await(ctx, name+" "+version)
}

// delete deletes a pod and waits until the loop has worked on it.
func (d *demo) delete(ctx context.Context, writer *api, name string) error {
	if err := writer.delete(ctx, name); err != nil {
		return err
	}
	return d.await(ctx, name+" gone")
}

// compare compares the copy with the server, once it has come as far.
func (d *demo) compare(ctx context.Context, writer *api) error {
	versions, at, err := writer.list(ctx)
	if err != nil {
		return err
	}
	select {
	case <-d.pods.Reached(at).Done():
	case <-ctx.Done():
		return fmt.Errorf("waiting for version %s: %w", at, context.Cause(ctx))
	}
	differ := 0
	for key, version := range versions {
		if pod, ok := d.pods.Indexer().Get(key); !ok || pod.ResourceVersion != version {
			differ++
			fmt.Fprintf(d.out, "  %s is at version %s on the server and not in the copy\n", key, version)
		}
	}
	for key := range d.pods.Indexer().All() {
		if _, ok := versions[key]; !ok {
			differ++
			fmt.Fprintf(d.out, "  %s is in the copy and not on the server\n", key)
		}
	}
	if differ > 0 {
		return fmt.Errorf("cache and server differ in %d pods at version %s", differ, at)
	}
	fmt.Fprintf(d.out, "cache and server are equal: %d pods at version %s\n", len(versions), at)
	return nil
}

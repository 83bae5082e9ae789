// Package caches compares what informers hold with what is in etcd.
//
// # Usage
//
//	report, err := caches.Compare(ctx, client, map[string]*informer.Factory{"scheduler": &factory}, 10*time.Second)
//
// # Guarantees
//
//  1. An object that a cache lacks, has too much, or has in another version makes an error. (TestCompare)
//  2. A cache that is only behind is waited for. (TestBehind)
//
// # Concurrency
//
// Compare reads alone. Informers may go on meanwhile.
package caches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
	"github.com/seed3bce33ad/listwatch/informer"
)

// Report is what was compared.
type Report struct {
	// Caches and Objects are how many there were; an object counts in each cache that holds it.
	Caches, Objects int
}

// retry is the time between two looks at a cache that differs.
const retry = 50 * time.Millisecond

// Compare compares each cache of the factories, which belong to the parts of those names, with etcd. Those that differ for
// longer than patience make an error that says in what.
func Compare(ctx context.Context, client *clientv3.Client, factories map[string]*informer.Factory, patience time.Duration) (Report, error) {
	store, err := storage.New(client, storage.Options{})
	if err != nil {
		return Report{}, err
	}
	var r Report
	var errs []error
	for _, part := range slices.Sorted(maps.Keys(factories)) {
		for _, cache := range factories[part].Informers() {
			n, err := settle(ctx, store, cache, patience)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", part, cache.Health().Name, err))
			}
			r.Caches, r.Objects = r.Caches+1, r.Objects+n
		}
	}
	return r, errors.Join(errs...)
}

// settle compares a cache until it is equal.
func settle(ctx context.Context, store *storage.Store, cache informer.Inspected, patience time.Duration) (int, error) {
	end := time.NewTimer(patience)
	defer end.Stop()
	tick := time.NewTicker(retry)
	defer tick.Stop()
	for {
		want, err := stored(ctx, store, cache.Health().Name)
		if err != nil {
			return 0, err
		}
		have := held(cache)
		if maps.Equal(want, have) {
			return len(have), nil
		}
		select {
		case <-tick.C:
		case <-end.C:
			return len(have), errors.New(difference(want, have))
		case <-ctx.Done():
			return len(have), context.Cause(ctx)
		}
	}
}

// held returns the versions of the objects of a cache.
func held(cache informer.Inspected) map[listwatch.Key]string {
	all := map[listwatch.Key]string{}
	for _, k := range cache.SomeKeys(cache.Health().Objects) {
		e := cache.Explain(k)
		if o, ok := e.Object().(listwatch.Object); ok {
			all[k] = o.GetResourceVersion()
		}
	}
	return all
}

// object is as much of one as tells whether a cache follows it.
type object struct {
	Metadata struct{ Namespace, Name string }
	Spec     struct{ NodeName string }
}

// stored returns the versions of the objects in etcd that an informer of that name follows: see kube.Follow and
// kube.FollowMetadata.
func stored(ctx context.Context, store *storage.Store, name string) (map[listwatch.Key]string, error) {
	words := strings.Fields(strings.TrimPrefix(name, "metadata of "))
	root, err := rootOf(words[0])
	if err != nil {
		return nil, err
	}
	page, err := store.List(ctx, root, storage.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := map[listwatch.Key]string{}
	for _, entry := range page.Entries {
		var o object
		if err := json.Unmarshal(entry.Value, &o); err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Key, err)
		}
		follows, err := selects(words[1:], o)
		if err != nil {
			return nil, err
		}
		if follows {
			all[listwatch.Key{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}] = fmt.Sprint(entry.Revision)
		}
	}
	return all, nil
}

// rootOf is what the keys of a resource begin with, which may have its group behind it.
func rootOf(resource string) (string, error) {
	name, group, _ := strings.Cut(resource, ".")
	for _, k := range kinds.Table() {
		if k.Resource == name && (group == "" || group == k.Group) {
			return path.Join("/", k.Group, name) + "/", nil
		}
	}
	if group != "" { // a custom one
		return "/" + group + "/" + name + "/", nil
	}
	return "", fmt.Errorf("%q isn't known to the comparison", resource)
}

// selects tells whether an informer with such words behind the resource in its name follows an object.
func selects(words []string, o object) (bool, error) {
	set := fields.Set{"metadata.namespace": o.Metadata.Namespace, "metadata.name": o.Metadata.Name, "spec.nodeName": o.Spec.NodeName}
	for _, word := range words {
		if !strings.Contains(word, "=") {
			word = "metadata.namespace=" + word
		}
		selector, err := fields.ParseSelector(word)
		if err != nil {
			return false, err
		}
		for _, r := range selector.Requirements() {
			if !set.Has(r.Field) {
				return false, fmt.Errorf("%q isn't known to the comparison", r.Field)
			}
		}
		if !selector.Matches(set) {
			return false, nil
		}
	}
	return true, nil
}

// difference says in what a cache differs.
func difference(want, have map[listwatch.Key]string) string {
	var all []string
	for _, k := range slices.SortedFunc(maps.Keys(want), compare) {
		switch version, found := have[k]; {
		case !found:
			all = append(all, "lacks "+k.String())
		case version != want[k]:
			all = append(all, fmt.Sprintf("has version %s of %s in place of %s", version, k, want[k]))
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(have), compare) {
		if _, found := want[k]; !found {
			all = append(all, "has "+k.String()+", which is no more")
		}
	}
	return strings.Join(all, "; ")
}

func compare(a, b listwatch.Key) int { return strings.Compare(a.String(), b.String()) }

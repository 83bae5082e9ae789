package fakes_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
)

// A watch replays what happened after a list, however late it comes.
func ExampleNew() {
	ctx := context.Background()
	source := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	web, _ := source.Create(&fakes.Object{Meta: listwatch.Meta{Name: "web"}, Value: "blue"})

	meta, _ := source.List(ctx, listwatch.ListOptions{}, func(objects ...*fakes.Object) error {
		for _, o := range objects {
			fmt.Println("listed", o.Name, o.Value)
		}
		return nil
	})

	web.Value = "green"
	_, _ = source.Update(web)
	_, err := source.Update(web)
	fmt.Println("with the old version:", errors.Is(err, fakes.ErrConflict))
	_, _ = source.Delete(listwatch.Key{Name: "web"}, fakes.Preconditions{})

	enough := errors.New("enough")
	_ = source.Watch(ctx, listwatch.WatchOptions{ResourceVersion: meta.ResourceVersion}, func(events ...listwatch.Event[*fakes.Object]) error {
		for _, e := range events {
			fmt.Println(e.Type, e.Object.Name, e.Object.Value, "at", e.ResourceVersion)
		}
		return enough
	})
	// Output:
	// listed web blue
	// with the old version: true
	// Modified web green at 3
	// Deleted web green at 4
}

// Faults happen when they are ordered, and once.
func ExampleSource_Fail() {
	source := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	source.Fail(fakes.VerbList, fakes.Status(429, "come back later"))
	for range 2 {
		_, err := source.List(context.Background(), listwatch.ListOptions{}, nil)
		fmt.Println(err, errors.Is(err, listwatch.ErrTooManyRequests))
	}
	// Output:
	// status 429 TooManyRequests: come back later true
	// <nil> false
}

// A watch from before the history is told so, and a list gets out of it.
func ExampleSource_Compact() {
	source := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	old := source.Version()
	_, _ = source.Put(&fakes.Object{Meta: listwatch.Meta{Name: "web"}})
	_ = source.Compact(source.Version())
	err := source.Watch(context.Background(), listwatch.WatchOptions{ResourceVersion: old}, nil)
	fmt.Println(err)
	fmt.Println(errors.Is(err, listwatch.ErrExpired))
	// Output:
	// ERROR event 410 Expired: too old resource version: 1 (2)
	// true
}

// A selector makes objects come and go for those who look through it.
func ExampleSource_Select() {
	source := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	for _, value := range []string{"blue", "green", "blue"} {
		_, _ = source.Put(&fakes.Object{Meta: listwatch.Meta{Name: "web"}, Value: value})
	}
	source.CutNext(3, nil)
	blue := source.Select(func(o *fakes.Object) bool { return o.Value == "blue" })
	_ = blue.Watch(context.Background(), listwatch.WatchOptions{ResourceVersion: "1"}, func(events ...listwatch.Event[*fakes.Object]) error {
		for _, e := range events {
			fmt.Println(e.Type, e.Object.Value, "at", e.ResourceVersion)
		}
		return nil
	})
	// Output:
	// Added blue at 2
	// Deleted blue at 3
	// Added blue at 4
}

// Finalizers keep an object until they have been taken away.
func ExampleOptions() {
	source := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{Finalizers: fakes.ObjectFinalizers})
	key := listwatch.Key{Name: "web"}
	_, _ = source.Create(&fakes.Object{Meta: listwatch.Meta{Name: "web"}, Finalizers: []string{"example.com/lock"}})

	marked, _ := source.Delete(key, fakes.Preconditions{})
	fmt.Println("being deleted:", !marked.Deleted.IsZero())
	marked.Finalizers = nil
	_, _ = source.Update(marked)
	_, err := source.Get(key)
	fmt.Println(err)
	// Output:
	// being deleted: true
	// status 404 NotFound: "web" not found
}

// A hook lets something happen at the worst moment.
func ExampleHooks() {
	var source *fakes.Source[*fakes.Object]
	source = fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{Hooks: fakes.Hooks{
		AfterList: func(context.Context, listwatch.ListMeta) error {
			_, err := source.Put(&fakes.Object{Meta: listwatch.Meta{Name: "late"}})
			return err
		},
	}})
	meta, _ := source.List(context.Background(), listwatch.ListOptions{}, nil)
	fmt.Println("listed at", meta.ResourceVersion, "now at", source.Version())
	// Output: listed at 1 now at 2
}

// Machine is an object of a test's own.
type Machine struct {
	listwatch.Meta
	Cores int
	Since time.Time
}

// Clone returns a copy, which is deep since there is nothing to be shared.
func (m *Machine) Clone() *Machine {
	c := *m
	return &c
}

// A stamp function of one's own decides where the stamp goes.
func ExampleStamp() {
	source := fakes.New(func(m *Machine, s fakes.Stamp) *Machine {
		m = m.Clone()
		m.ResourceVersion, m.UID, m.Since = s.ResourceVersion, s.UID, s.Created
		return m
	}, fakes.Options[*Machine]{Version: 41})
	m, _ := source.Create(&Machine{Meta: listwatch.Meta{Name: "m1"}, Cores: 8})
	fmt.Println(m.Name, m.UID, m.ResourceVersion, m.Cores, !m.Since.IsZero())
	// Output: m1 uid-1 42 8 true
}

// A type that keeps a Meta needs no stamp function of its own.
func ExampleStampMeta() {
	stamp := fakes.StampMeta((*Machine).Clone, func(m *Machine) *listwatch.Meta { return &m.Meta })
	source := fakes.New(stamp, fakes.Options[*Machine]{})
	m, _ := source.Create(&Machine{Meta: listwatch.Meta{Name: "m1"}, Cores: 8})
	fmt.Println(m.Name, m.UID, m.ResourceVersion, m.Cores)
	// Output: m1 uid-1 2 8
}

func ExampleObject() {
	o := &fakes.Object{Meta: listwatch.Meta{Namespace: "default", Name: "web"}, Labels: map[string]string{"app": "x"}}
	c := o.Clone()
	c.Labels["app"] = "y"
	fmt.Println(listwatch.KeyOf(o), o.Labels["app"], c.Labels["app"])
	// Output: default/web x y
}

// Preconditions spare an object that has come again under the same name.
func ExamplePreconditions() {
	source := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	key := listwatch.Key{Name: "web"}
	first, _ := source.Put(&fakes.Object{Meta: listwatch.Meta{Name: "web"}})
	_, _ = source.Delete(key, fakes.Preconditions{UID: first.UID})
	_, _ = source.Put(&fakes.Object{Meta: listwatch.Meta{Name: "web"}})
	_, err := source.Delete(key, fakes.Preconditions{UID: first.UID})
	fmt.Println(err)
	// Output: status 409 Conflict: "web" has UID "uid-2", not "uid-1"
}

func ExampleVerb() {
	fmt.Println(fakes.VerbWatch)
	// Output: Watch
}

// An informer is tested without a server, and its handler is checked on the way.
func ExampleRecorder() {
	ctx, cancel := context.WithCancel(context.Background())
	source := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	_, _ = source.Put(&fakes.Object{Meta: listwatch.Meta{Name: "web"}, Value: "blue"})

	objects := informer.New(source, informer.Options{})
	var rec fakes.Recorder[*fakes.Object]
	_, _ = objects.AddHandler(ctx, rec.Handle, informer.HandlerOptions{})
	var group sync.WaitGroup
	group.Go(func() { _ = objects.Run(ctx) })

	_ = rec.Wait(ctx, 1)
	_, _ = source.Put(&fakes.Object{Meta: listwatch.Meta{Name: "web"}, Value: "green"})
	_ = rec.Wait(ctx, 2)
	cancel()
	group.Wait()

	for _, c := range rec.Changes() {
		fmt.Println(c.Type, c.Key, c.Object.Value)
	}
	fmt.Println(rec.Err())
	// Output:
	// Add web blue
	// Update web green
	// <nil>
}

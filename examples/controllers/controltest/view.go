package controltest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
)

// patience is how long a test waits for what it is sure to see.
const patience = 2 * time.Minute

// View is how a test sees a collection. Make one with [Watch].
type View[T kube.Object] struct {
	w        *World
	informer *informer.Informer[T]
	changed  chan struct{}
	mu       sync.Mutex
	// there are the objects as the events tell, and made the UIDs of all that were seen: what is counted and what is there
	// belong together. Guarded by mu.
	there map[listwatch.Key]T
	made  map[string]bool
	// check is called at each change with what is there. Guarded by mu.
	check func([]T)
}

// Watch begins to look at all objects of a type. Every change is seen.
func Watch[T kube.Object](w *World) *View[T] {
	w.T.Helper()
	i, err := kube.Follow[T](w.Cluster, &w.factory, kube.Select{})
	require.NoError(w.T, err)
	v := &View[T]{w: w, informer: i, changed: make(chan struct{}, 1), there: map[listwatch.Key]T{}, made: map[string]bool{}}
	v.each(func(c informer.Change[T]) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.made[string(c.Object.GetUID())] = true
		if v.there[c.Key] = c.Object; c.Type == informer.Delete {
			delete(v.there, c.Key)
		}
		if v.check != nil {
			v.check(slices.Collect(maps.Values(v.there)))
		}
		select {
		case v.changed <- struct{}{}:
		default:
		}
	})
	return v
}

// each calls f with all objects that there are and at each change, and returns when it was called with all that there were.
func (v *View[T]) each(f func(informer.Change[T])) {
	r, err := v.informer.AddHandler(v.w.ctx, func(_ context.Context, c informer.Change[T]) { f(c) },
		informer.HandlerOptions{Policy: informer.EveryEvent})
	require.NoError(v.w.T, err)
	select {
	case <-r.Synced().Done():
	case <-time.After(patience):
		require.FailNow(v.w.T, "not synced")
	}
}

// now returns what is there.
func (v *View[T]) now() []T {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Values(v.there))
}

// Always has check called at each change with what is there then.
func (v *View[T]) Always(check func([]T)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.check = check
}

// Until waits until what is there is what is waited for, and returns it. Only one goroutine may wait at a time.
func (v *View[T]) Until(is func([]T) bool) []T {
	v.w.T.Helper()
	return v.wait(0, is)
}

// After lets so much time pass, and as much again when nothing comes of it for a while, as a step may have looked at the
// clock just before. Otherwise it is as [View.Until].
func (v *View[T]) After(d time.Duration, is func([]T) bool) []T {
	v.w.T.Helper()
	v.w.Clock.Add(d)
	return v.wait(d, is)
}

// wait is Until that lets time pass whenever nothing changes.
func (v *View[T]) wait(pass time.Duration, is func([]T) bool) []T {
	v.w.T.Helper()
	late := time.After(patience)
	for {
		quiet := make(<-chan time.Time)
		if pass > 0 {
			quiet = time.After(200 * time.Millisecond)
		}
		objects := v.now()
		if is(objects) {
			return objects
		}
		select {
		case <-v.changed:
		case <-quiet:
			v.w.Clock.Add(pass)
		case <-late:
			require.FailNow(v.w.T, "it never came to that", "%+v", objects)
		}
	}
}

// UntilGone waits until an object has been seen and is there no more.
func (v *View[T]) UntilGone(o T) {
	v.w.T.Helper()
	v.Until(func([]T) bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		_, there := v.there[listwatch.KeyOf(o)]
		return v.made[string(o.GetUID())] && !there
	})
}

// One waits until the object of that name in the namespace "default" is what is waited for, and returns it.
func (v *View[T]) One(name string, is func(T) bool) T {
	v.w.T.Helper()
	key := listwatch.Key{Namespace: metav1.NamespaceDefault, Name: name}
	var found T
	v.Until(func([]T) bool {
		v.mu.Lock()
		o, ok := v.there[key]
		v.mu.Unlock()
		found = o
		return ok && is(o)
	})
	return found
}

// Made returns how many objects there have been so far.
func (v *View[T]) Made() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.made)
}

// RequireMade waits until so many objects have been seen, and there must not be more.
func (v *View[T]) RequireMade(n int) {
	v.w.T.Helper()
	v.Until(func([]T) bool { return v.Made() >= n })
	require.Equal(v.w.T, n, v.Made())
}

// Seen returns when what the controllers read shows an object in this state, or a newer one: they follow each collection by
// a watch of its own, which may be later than the others.
func Seen[T kube.Object](w *World, o T) {
	w.T.Helper()
	i, err := kube.Follow[T](w.theirs, w.read, kube.Select{})
	require.NoError(w.T, err)
	select {
	case <-i.Reached(o.GetResourceVersion()).Done():
	case <-time.After(patience):
		require.FailNow(w.T, "no controller has seen it", "%+v", o)
	}
}

// Create makes an object in the namespace "default".
func Create[T kube.Object](w *World, o T) T {
	w.T.Helper()
	o.SetNamespace(metav1.NamespaceDefault)
	made, err := kube.For[T](w.Cluster).Create(w.ctx, o)
	require.NoError(w.T, err)
	return made
}

// Merge changes the object of that name in the namespace "default" by a merge patch of it, or of a subresource.
func Merge[T kube.Object](w *World, name, subresource string, body any) T {
	w.T.Helper()
	changed, err := kube.For[T](w.Cluster).Patch(w.ctx, listwatch.Key{Namespace: metav1.NamespaceDefault, Name: name},
		kube.Patch{Body: body, Subresource: subresource})
	require.NoError(w.T, err)
	return changed
}

// Delete deletes the object of that name in the namespace "default".
func Delete[T kube.Object](w *World, name string) {
	w.T.Helper()
	require.NoError(w.T, kube.For[T](w.Cluster).Delete(w.ctx, listwatch.Key{Namespace: metav1.NamespaceDefault, Name: name}, metav1.DeleteOptions{}))
}

// Kill deletes a pod, if it is there still.
func (w *World) Kill(p *corev1.Pod) {
	w.T.Helper()
	err := kube.For[*corev1.Pod](w.Cluster).Delete(w.ctx, listwatch.KeyOf(p), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(p.UID))})
	require.NoError(w.T, kube.UnlessBehind(err))
}

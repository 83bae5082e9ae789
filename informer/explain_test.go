package informer_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// gate is a handler that waits in each call until it is let go.
type gate chan struct{}

func (g gate) handle(ctx context.Context, _ change) {
	select {
	case <-g:
	case <-ctx.Done():
	}
}

// let lets n calls end, and waits until everything is at rest.
func (g gate) let(n int) {
	for range n {
		g <- struct{}{}
	}
	synctest.Wait()
}

func TestExplainAtRest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		_, err := indexer.AddIndex(r.Indexer(), "value", func(o *object) []string { return []string{o.Value, o.Name} })
		require.NoError(t, err)
		e := r.Explain(key("a"))
		require.Equal(t, reflector.Idle, e.Source.State)
		require.False(t, e.Store.Held)

		a := r.put("a", "1")
		r.start().sync()
		r.handle(func(context.Context, change) {}, informer.HandlerOptions{Name: "h"})
		synctest.Wait()
		began := time.Now()
		time.Sleep(time.Second)
		e = r.Explain(key("a"))
		require.Same(t, r.get("a"), e.Object())
		head := listwatch.Head{Key: key("a"), UID: a.UID, ResourceVersion: a.ResourceVersion}
		want := informer.Explanation{
			Informer: "pods", Key: key("a"), Time: began.Add(time.Second),
			Source: informer.ExplainedSource{
				State: reflector.Watching, Since: began, Synced: true, Position: a.ResourceVersion, LastProgress: began,
			},
			Store: informer.ExplainedStore{
				Held: true, UID: a.UID, ResourceVersion: a.ResourceVersion, Mark: 1, Version: a.ResourceVersion,
				Indexes: []informer.ExplainedIndex{{Name: "value", Values: []string{"1", "a"}}},
			},
			Handlers: []informer.ExplainedHandler{{
				HandlerStats: informer.HandlerStats{Name: "h", Delivered: 1, Synced: true}, Told: head,
			}},
		}
		require.Empty(t, cmp.Diff(want, e, cmp.FilterPath(unexported, cmp.Ignore())))

		r.drop("a")
		synctest.Wait()
		e = r.Explain(key("a"))
		require.Nil(t, e.Object())
		require.Equal(t, informer.ExplainedStore{Version: r.Health().Version}, e.Store)
		require.Zero(t, e.Handlers[0].Told)
		require.Equal(t, 0, e.Handlers[0].InCall+e.Handlers[0].Waiting)
	})
}

func unexported(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && strings.ToLower(field.Name()[:1]) == field.Name()[:1]
}

// What a handler has been told, and what waits for it, in the call, in its mailbox and in the log.
func TestExplainTellsWhatAHandlerKnows(t *testing.T) {
	for name, o := range map[string]informer.HandlerOptions{
		"in the log":     {},
		"in the mailbox": {Backlog: 1},
		"every event":    {Policy: informer.EveryEvent},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{}).start().sync()
				g := make(gate)
				r.handle(g.handle, o)
				synctest.Wait()
				r.put("other", "1")
				synctest.Wait()
				v1 := r.put("a", "1")
				r.put("other", "2")
				synctest.Wait()
				h := r.Explain(key("a")).Handlers[0]
				require.Zero(t, h.Told)
				require.Equal(t, []int{0, 1}, []int{h.InCall, h.Waiting})
				require.Equal(t, []informer.ChangeHead{{Type: informer.Add, Head: headOf(v1)}}, h.Changes)

				g.let(1) // of the other key; the next run holds what waited
				h = r.Explain(key("a")).Handlers[0]
				require.Zero(t, h.Told)
				require.Equal(t, []int{1, 0}, []int{h.InCall, h.Waiting})

				r.put("a", "2")
				v3 := r.put("a", "3")
				r.drop("a")
				synctest.Wait()
				h = r.Explain(key("a")).Handlers[0]
				if o.Backlog == 1 { // folded to the delete of what it is being told
					require.Equal(t, []int{1, 1}, []int{h.InCall, h.Waiting})
				} else {
					require.Equal(t, []int{1, 3}, []int{h.InCall, h.Waiting})
					require.Equal(t, headOf(v3), h.Changes[2].Head)
				}
				require.Equal(t, informer.Delete, h.Changes[len(h.Changes)-1].Type)

				g.let(2) // the add, and the other key or the next change
				h = r.Explain(key("a")).Handlers[0]
				require.Equal(t, headOf(v1), h.Told)
				close(g)
				synctest.Wait()
				h = r.Explain(key("a")).Handlers[0]
				require.Zero(t, h.Told)
				require.Empty(t, h.Changes)
			})
		})
	}
}

func headOf(o *object) listwatch.Head {
	return listwatch.Head{Key: listwatch.KeyOf(o), UID: o.UID, ResourceVersion: o.ResourceVersion}
}

func (r *rig) get(name string) *object {
	o, _ := r.Indexer().Get(key(name))
	return o
}

// Changes that wait between reading and storing are shown: here the loop that stores is held up by a
// function that waited for a signal.
func TestExplainShowsTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{}).start().sync()
		release := make(chan struct{})
		a := r.put("a", "1")
		synctest.Wait()
		r.Reached(a.ResourceVersion + "0").AfterFunc(func() { <-release })
		r.server.Advance(1000)
		c := r.put("c", "1")
		synctest.Wait()
		b := r.put("b", "1")
		synctest.Wait()
		e := r.Explain(key("b"))
		require.Equal(t, deltafifo.Explanation{
			Queued: 1, Deltas: []deltafifo.DeltaHead{{Type: deltafifo.Added, Head: headOf(b)}},
		}, e.Reading)
		require.Contains(t, e.String(), "reading   1 change queued, Added at "+b.ResourceVersion+"\n")
		require.Contains(t, e.String(), "store     nothing held, store at "+c.ResourceVersion+"\n")
		require.Equal(t, b.ResourceVersion, e.Source.Position)
		require.Equal(t, 1, r.Health().Queued)
		e = r.Explain(key("c"))
		require.Equal(t, 1, e.Reading.InFlight)
		require.Contains(t, e.String(), "reading   1 change being stored, Added at "+c.ResourceVersion+"\n")
		close(release)
		r.sync()
		require.Equal(t, deltafifo.Explanation{}, r.Explain(key("b")).Reading)
	})
}

// What a handler has been told is not shown as being told when it is synced.
func TestExplainAtTheMomentOfSync(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		r.put("a", "1")
		reg := r.handle(func(context.Context, change) {}, informer.HandlerOptions{})
		var e informer.Explanation
		reg.Synced().AfterFunc(func() { e = r.Explain(key("a")) })
		r.start().sync()
		require.Len(t, e.Handlers, 1)
		require.Zero(t, e.Handlers[0].InCall)
		require.Zero(t, e.Handlers[0].Pending)
	})
}

// refuses is a server whose lists and watches refuse one name.
type refuses struct{ *server }

func (s refuses) refuse(o *object, refused func(listwatch.Head, error) error) error {
	return refused(headOf(o), listwatch.ErrTooLarge)
}

func (s refuses) List(ctx context.Context, o listwatch.ListOptions, each func(...*object) error) (listwatch.ListMeta, error) {
	return s.server.List(ctx, o, func(objects ...*object) error {
		for _, object := range objects {
			err := error(nil)
			if object.Value == "bad" {
				err = s.refuse(object, o.Refused)
			} else {
				err = each(object)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s refuses) Watch(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[*object]) error) error {
	return s.server.Watch(ctx, o, func(events ...listwatch.Event[*object]) error {
		for _, event := range events {
			err := error(nil)
			if (event.Type == listwatch.Modified || event.Type == listwatch.Added) && event.Object.Value == "bad" {
				err = s.refuse(event.Object, o.Refused)
			} else {
				err = each(event)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// A refused key is named by Health and Explain, and what is held under it stays, whether a first
// list, initial events, a watch or a comparing list refused it.
func TestRefusedKeyIsNamed(t *testing.T) {
	for name, o := range map[string]reflector.Options{
		"pages":  {FirstList: reflector.FirstPages},
		"stream": {},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				server := newServer(fakes.Options[*object]{})
				r := newRig(t, server, informer.Options{Reflector: o})
				r.pods = informer.New[*object](refuses{server}, quiet(informer.Options{Reflector: o}))
				bad := r.put("a", "bad")
				good := r.put("b", "good")
				r.start()
				require.NoError(t, r.WaitForSync(t.Context()))
				r.named(bad, "")
				r.named(r.put("b", "bad"), good.ResourceVersion)
				time.Sleep(2 * time.Hour) // comparing lists
				require.NotZero(t, r.Health().Source.Compares)
				require.Len(t, r.Health().Source.Refused, 2)
				mended := r.put("b", "good again")
				synctest.Wait()
				require.Nil(t, r.Explain(key("b")).Source.Refused)
				require.Equal(t, mended.ResourceVersion, r.Explain(key("b")).Store.ResourceVersion)
				r.drop("a")
				synctest.Wait()
				require.Empty(t, r.Health().Source.Refused, "deleted")
			})
		})
	}
}

// named checks that an object is named as refused, while another version of it is held.
func (r *rig) named(o *object, held string) {
	r.t.Helper()
	synctest.Wait()
	e := r.Explain(listwatch.KeyOf(o))
	require.NotNil(r.t, e.Source.Refused)
	require.Equal(r.t, o.ResourceVersion, e.Source.Refused.ResourceVersion)
	require.Contains(r.t, e.Source.Refused.Reason, "too large")
	require.Equal(r.t, held, e.Store.ResourceVersion)
	require.Contains(r.t, e.String(), "refused   version "+o.ResourceVersion)
	var health []listwatch.Key
	for _, refusal := range r.Health().Source.Refused {
		health = append(health, refusal.Key)
	}
	require.Contains(r.t, health, listwatch.KeyOf(o))
}

func TestExplainLooksIntoQueues(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		keys := workqueue.New[listwatch.Key](workqueue.Options{Name: "keys"})
		names := workqueue.New[string](workqueue.Options{Name: "names"})
		numbers := workqueue.New[int](workqueue.Options{Name: "numbers"})
		keys.AddRateLimited(key("a"))
		keys.AddWith(key("a"), workqueue.AddOptions{After: time.Second, Priority: 2})
		names.AddAfter("ns/a", time.Minute)
		numbers.Add(7)
		e := r.Explain(key("a"), keys, names, numbers)
		require.Len(t, e.Queues, 3)
		require.True(t, e.Queues[0].Held)
		require.Equal(t, workqueue.Delayed, e.Queues[0].State)
		require.Equal(t, 1, e.Queues[0].Failures)
		require.True(t, e.Queues[1].Held)
		require.Equal(t, time.Now().Add(time.Minute), e.Queues[1].Due)
		require.False(t, e.Queues[2].Held)
		text := e.String()
		require.Contains(t, text, "work      keys: Delayed since now, due in 5ms, priority 2, 1 failure\n")
		require.Contains(t, text, "work      names: Delayed since now, due in 1m0s\n")
		require.Contains(t, text, "work      numbers: not held\n")
		for _, close := range []func(){keys.Close, names.Close} {
			close()
		}
	})
}

// Objects may be secrets: neither the lines nor the JSON have them.
func TestExplanationHasNoObject(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		a := r.put("a", "hidden")
		r.start().sync()
		e := r.Explain(key("a"))
		require.Equal(t, a, e.Object())
		text, err := json.Marshal(e)
		require.NoError(t, err)
		require.NotContains(t, string(text)+e.String(), "hidden")
		require.Contains(t, string(text), `"State":"Watching"`)
		require.Contains(t, string(text), `"ResourceVersion":"`+a.ResourceVersion+`"`)
	})
}

package informer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// failingShown is how many failing keys the page of all queues shows of each.
const failingShown = 5

// debugView is what a page shows and what its JSON is.
type debugView struct {
	// Time is when it was looked at.
	Time time.Time
	// Fault says what is wrong with what was asked for.
	Fault string `json:",omitempty"`
	// Informers and Queues are all, or the one that was asked for.
	Informers []debugInformer `json:",omitempty"`
	Queues    []debugQueue    `json:",omitempty"`
	// Explanation is of the key that was asked for, Object its object when that is allowed.
	Explanation *Explanation    `json:",omitempty"`
	Object      json.RawMessage `json:",omitempty"`

	o        DebugOptions
	overview bool
}

// Overview: everything was asked for.
func (v *debugView) Overview() bool { return v.overview }

// ShowsObjects: nothing is hidden.
func (v *debugView) ShowsObjects() bool { return v.o.Objects }

// HandlerCount is the number of all handlers.
func (v *debugView) HandlerCount() (n int) {
	for _, i := range v.Informers {
		n += len(i.Handlers)
	}
	return n
}

type debugInformer struct {
	Name                        string
	Running, Synced             bool
	State                       reflector.State
	Since                       time.Time
	Position, Version           string
	AgeSeconds                  float64
	LastEvent, LastProgress     time.Time `json:",omitzero"`
	LastChange                  time.Time `json:",omitzero"`
	Objects, Queued             int
	Failures                    int
	LastError, LastErrorClass   string    `json:",omitempty"`
	LastErrorTime, NextRetry    time.Time `json:",omitzero"`
	Drift, Gaps, Epoch          uint64
	Gap                         bool
	Lists, Watches              uint64
	Probes, Compares, Abandoned uint64
	Changes, Skipped            uint64
	Refused                     []debugRefusal
	Handlers                    []HandlerStats
	Keys                        []listwatch.Key `json:",omitempty"`
}

type debugRefusal struct {
	Key             listwatch.Key
	ResourceVersion string
	Reason          string
	Time            time.Time
}

type debugQueue struct {
	Name                               string
	Ready, Delayed, Working, Parked    int
	OldestReadySeconds                 float64
	LongestRunningSeconds              float64
	Adds, Retries, Refused, Gets, Done uint64
	// Failing are keys with failures among those that were looked at; Items are all of them.
	Failing []debugItem
	Items   []debugItem `json:",omitempty"`
}

type debugItem struct {
	Key      string
	State    workqueue.State
	Since    time.Time
	Due      time.Time `json:",omitzero"`
	Again    bool
	Priority int
	Flow     string `json:",omitempty"`
	Failures int
}

// all shows everything, without keys.
func (v *debugView) all() {
	v.overview = true
	for _, i := range v.o.informers() {
		v.Informers = append(v.Informers, newDebugInformer(i))
	}
	for _, q := range v.o.Queues {
		shown := newDebugQueue(q, v.o.Limit)
		shown.Failing = shown.Failing[:min(failingShown, len(shown.Failing))]
		shown.Items = nil
		v.Queues = append(v.Queues, shown)
	}
}

func (v *debugView) oneInformer(name string) error {
	i, err := v.find(name)
	if err != nil {
		return err
	}
	shown := newDebugInformer(i)
	shown.Keys = i.SomeKeys(v.o.Limit)
	slices.SortFunc(shown.Keys, listwatch.Key.Compare)
	v.Informers = append(v.Informers, shown)
	return nil
}

func (v *debugView) oneQueue(name string) error {
	for _, q := range v.o.Queues {
		if q.Name() == name {
			v.Queues = append(v.Queues, newDebugQueue(q, v.o.Limit))
			return nil
		}
	}
	return fmt.Errorf("%w: queue %q", listwatch.ErrNotFound, name)
}

func (v *debugView) oneKey(name string, key listwatch.Key) error {
	i, err := v.find(name)
	if err != nil {
		return err
	}
	e := i.Explain(key, v.o.Queues...)
	v.Explanation = &e
	if !v.o.Objects {
		e.Store.Indexes = slices.Clone(e.Store.Indexes)
		for n := range e.Store.Indexes {
			e.Store.Indexes[n].Values = nil
		}
		return nil
	}
	if e.Object() != nil {
		if v.Object, err = json.MarshalIndent(e.Object(), "", "  "); err != nil {
			v.Object, _ = json.Marshal(err.Error())
		}
	}
	return nil
}

func (v *debugView) find(name string) (Inspected, error) {
	for _, i := range v.o.informers() {
		if i.Health().Name == name {
			return i, nil
		}
	}
	return nil, fmt.Errorf("%w: informer %q", listwatch.ErrNotFound, name)
}

func newDebugInformer(i Inspected) debugInformer {
	h, s := i.Health(), i.Stats()
	r := h.Source
	d := debugInformer{
		Name: h.Name, Running: h.Running, Synced: h.Synced, State: r.State, Since: r.Since,
		Position: r.Position, Version: h.Version, AgeSeconds: h.Age.Seconds(),
		LastEvent: r.LastEvent, LastProgress: r.LastProgress, LastChange: s.LastChange,
		Objects: h.Objects, Queued: h.Queued, Failures: r.Failures, LastErrorTime: r.LastErrorTime, NextRetry: r.NextRetry,
		Drift: h.Drift, Gaps: r.Gaps, Gap: r.Gap, Epoch: h.Epoch, Lists: r.Lists, Watches: r.Watches,
		Probes: r.Probes, Compares: r.Compares, Abandoned: r.Abandoned,
		Changes: s.Changes, Skipped: s.Skipped, Refused: []debugRefusal{}, Handlers: append([]HandlerStats{}, s.Handlers...),
	}
	if r.LastError != nil {
		d.LastError = r.LastError.Error()
	}
	if r.LastErrorClass != nil {
		d.LastErrorClass = r.LastErrorClass.Error()
	}
	for _, refusal := range r.Refused {
		d.Refused = append(d.Refused, debugRefusal{
			Key: refusal.Key, ResourceVersion: refusal.ResourceVersion, Reason: fmt.Sprint(refusal.Reason), Time: refusal.Time,
		})
	}
	slices.SortFunc(d.Refused, func(a, b debugRefusal) int { return a.Key.Compare(b.Key) })
	return d
}

func newDebugQueue(q Queue, limit int) debugQueue {
	s := q.Stats()
	d := debugQueue{
		Name: q.Name(), Ready: s.Ready, Delayed: s.Delayed, Working: s.Working, Parked: s.Parked,
		OldestReadySeconds: s.OldestReady.Seconds(), LongestRunningSeconds: s.LongestRunning.Seconds(),
		Adds: s.Adds, Retries: s.Retries, Refused: s.Refused, Gets: s.Gets, Done: s.Done, Failing: []debugItem{},
	}
	for _, i := range q.Some(limit) {
		item := debugItem{
			Key: fmt.Sprint(i.Key), State: i.State, Since: i.Since, Due: i.Due, Again: i.Again,
			Priority: i.Priority, Flow: i.Flow, Failures: i.Failures,
		}
		d.Items = append(d.Items, item)
		if i.Failures > 0 {
			d.Failing = append(d.Failing, item)
		}
	}
	slices.SortFunc(d.Failing, func(a, b debugItem) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(a.Key, b.Key))
	})
	slices.SortFunc(d.Items, func(a, b debugItem) int {
		return cmp.Or(cmp.Compare(a.State, b.State), a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key))
	})
	return d
}

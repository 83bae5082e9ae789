package overhttp

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/meter"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/pod"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/server"
)

// command has the server do something, and waits for the updates that come of it.
func (r *rig) command(ctx context.Context, c server.Command, each func(listwatch.Object)) error {
	done := r.handler.expect(c.Events, each)
	if err := r.session.Do(ctx, c); err != nil {
		return err
	}
	return r.handler.await(ctx, "events", done)
}

// watched syncs, and lets the first events pass.
func (r *rig) watched(ctx context.Context, c server.Command) error {
	if err := r.open(ctx, r.size.Watched); err != nil {
		return err
	}
	if err := r.sync(ctx); err != nil {
		return err
	}
	if err := r.command(ctx, c, nil); err != nil {
		return err
	}
	var err error
	r.server, err = r.session.CPU(ctx)
	return err
}

// watch reads events as fast as it can.
func watch(ctx context.Context, r *rig) error {
	if err := r.watched(ctx, server.Command{Events: r.size.Warm}); err != nil {
		return err
	}
	phase, err := r.measure()
	if err != nil {
		return err
	}
	if err := r.command(ctx, server.Command{Events: r.size.Events}, nil); err != nil {
		return err
	}
	if err := r.note(ctx, phase); err != nil {
		return err
	}
	events := float64(r.size.Events)
	r.metrics["events"] = events
	r.metrics["events_per_s"] = events / r.metrics["wall_s"]
	r.metrics["cpu_s_per_million"] = r.metrics["cpu_s"] / events * 1e6
	r.metrics["allocs_per_event"] = r.metrics["allocs"] / events
	return nil
}

// latency is the time from the server's write to the handler, while 1,000 events come a second.
func latency(ctx context.Context, r *rig) error {
	const perSecond = 1000
	if err := r.watched(ctx, server.Command{Events: r.size.Warm, PerSecond: perSecond}); err != nil {
		return err
	}
	phase, err := r.measure()
	if err != nil {
		return err
	}
	took := make([]time.Duration, 0, r.size.Paced)
	err = r.command(ctx, server.Command{Events: r.size.Paced, PerSecond: perSecond}, func(o listwatch.Object) {
		now := time.Now().UnixNano()
		sent, _ := strconv.ParseInt(o.(*corev1.Pod).Annotations[pod.SentAnnotation], 10, 64)
		took = append(took, time.Duration(now-sent))
	})
	if err != nil {
		return err
	}
	if err := r.note(ctx, phase); err != nil {
		return err
	}
	slices.Sort(took)
	for name, share := range map[string]float64{"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "p99.9_ms": 0.999} {
		r.metrics[name] = took[int(share*float64(len(took)-1))].Seconds() * 1000
	}
	return nil
}

// relist is what it costs when the watch has expired and nothing has changed. It begins with the
// request for the list, not with the pause before, and ends when an event behind it has come.
func relist(ctx context.Context, r *rig) error {
	asked := &firstRequest{}
	r.setup.wrap = asked.around
	if err := r.open(ctx, r.size.Relisted); err != nil {
		return err
	}
	if err := r.sync(ctx); err != nil {
		return err
	}
	before, err := meter.Resident()
	if err != nil {
		return err
	}
	phase, err := r.measure()
	if err != nil {
		return err
	}
	if r.server, err = r.session.CPU(ctx); err != nil {
		return err
	}
	asked.arm(phase.Restart)
	updates := r.handler.updates.Load()
	if err := r.session.Do(ctx, server.Command{Expire: true}); err != nil {
		return err
	}
	if err := r.awaitMark(ctx); err != nil {
		return err
	}
	if err := r.note(ctx, phase); err != nil {
		return err
	}
	r.metrics["handler_calls"] = float64(r.handler.updates.Load() - updates - 1)
	r.metrics["peak_over_before"] = r.metrics["peak_mib"] / before
	return asked.err
}

// awaitMark has the next watch send one event, and waits for it.
func (r *rig) awaitMark(ctx context.Context) error {
	mark := make(chan struct{})
	r.handler.expect(-1, func(o listwatch.Object) {
		if o.GetResourceVersion() == strconv.Itoa(server.ListVersion+1) {
			close(mark)
		}
	})
	if err := r.session.Do(ctx, server.Command{Events: 1}); err != nil {
		return err
	}
	return r.handler.await(ctx, "relist", mark)
}

// firstRequest notices a request.
type firstRequest struct {
	next http.RoundTripper

	mu    sync.Mutex
	armed func() error
	err   error
}

func (f *firstRequest) around(next http.RoundTripper) http.RoundTripper {
	f.next = next
	return f
}

// arm calls do with the next request.
func (f *firstRequest) arm(do func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = do
}

// RoundTrip sends a request.
func (f *firstRequest) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	if f.armed != nil {
		f.err, f.armed = f.armed(), nil
	}
	f.mu.Unlock()
	return f.next.RoundTrip(r)
}

// CloseIdleConnections closes those of the transport.
func (f *firstRequest) CloseIdleConnections() {
	if c, ok := f.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

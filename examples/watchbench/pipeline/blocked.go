package pipeline

import (
	"context"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/measure"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/sides"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/work"
)

// follower is a handler that waits for the last state of each pod. Its fields are written while
// nothing is sent and everything was told.
type follower struct {
	// newest is the oldest version that is the last of its pod: the versions from there on are as
	// many as there are pods. Told is closed when all have been told.
	newest string
	left   int
	told   chan struct{}
	calls  int
	// block, if set, holds the next call until it is closed, and blocked is closed then.
	block, blocked chan struct{}
}

func (f *follower) tell(pod *corev1.Pod) {
	if f.block != nil {
		close(f.blocked)
		<-f.block
		f.block = nil
	}
	f.calls++
	if f.newest != "" && pod.ResourceVersion >= f.newest { // of one length
		if f.left--; f.left == 0 {
			close(f.told)
		}
	}
}

// expect has the handler wait for the last of some versions.
func (f *follower) expect(versions []string, keys int) {
	f.newest, f.left, f.told, f.calls = versions[len(versions)-keys], keys, make(chan struct{}), 0
}

// hot is an informer of a few keys that get many updates, each an object of its own, with one
// handler that every event is told to and one for which they may be folded.
type hot struct {
	informer     *sides.Informer
	pods         []corev1.Pod
	every, folds follower
}

func newHot(ctx context.Context, side string, keys int) (*hot, error) {
	h := &hot{pods: sides.Pods(keys)}
	var err error
	if h.informer, err = sides.New(side, h.pods, sides.Backlog); err != nil {
		return nil, err
	}
	if err := h.informer.AddHandler(ctx, false, h.folds.tell); err != nil {
		return nil, err
	}
	if err := h.informer.AddHandler(ctx, true, h.every.tell); err != nil {
		return nil, err
	}
	h.informer.Start(ctx)
	return h, h.informer.Synced(ctx)
}

// send sends an update for each version, and returns when one handler has been told all.
func (h *hot) send(ctx context.Context, versions []string) error {
	h.every.expect(versions, len(h.pods))
	h.folds.expect(versions, len(h.pods))
	for n, version := range versions {
		pod := new(corev1.Pod)
		*pod = h.pods[n%len(h.pods)]
		pod.ResourceVersion = version
		if err := h.informer.Send(ctx, pod); err != nil {
			return err
		}
	}
	return wait(ctx, h.every.told)
}

// blocked measures what an informer keeps for a handler that is blocked while all updates pass, and
// how the handler catches up after that: it is told the last state of each key in any case. Before
// that a fifth as many updates pass with nobody blocked, so that what the informer keeps for its own
// work is not counted.
func blocked(ctx context.Context, side string, keys, updates int) (work.Metrics, error) {
	h, err := newHot(ctx, side, keys)
	if err != nil {
		return nil, err
	}
	first := max(updates/5, keys)
	versions := sides.Versions(sides.FirstVersion, first+updates)
	if err := h.send(ctx, versions[:first]); err != nil {
		return nil, err
	}
	if err := wait(ctx, h.folds.told); err != nil {
		return nil, err
	}
	block := make(chan struct{})
	h.folds.block, h.folds.blocked = block, make(chan struct{})
	before := measure.Heap()
	start := time.Now()
	if err := h.send(ctx, versions[first:]); err != nil {
		return nil, err
	}
	if err := wait(ctx, h.folds.blocked); err != nil {
		return nil, err
	}
	passed := time.Since(start)
	growth := measure.Heap() - before
	start = time.Now()
	close(block)
	if err := wait(ctx, h.folds.told); err != nil {
		return nil, err
	}
	drained := time.Since(start)
	runtime.KeepAlive(versions)
	return work.Metrics{
		"growth_B":           growth,
		"growth_B_per_event": growth / float64(updates),
		"growth_B_per_key":   growth / float64(keys),
		"pairs_per_key":      growth / float64(keys) / (2 * podSize(h.pods[0])),
		"passed_s":           passed.Seconds(),
		"drain_s":            drained.Seconds(),
		"drain_calls":        float64(h.folds.calls),
	}, h.informer.Stop()
}

func wait(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// podSize returns the bytes that an object of its own takes, as the updates make it.
func podSize(like corev1.Pod) float64 {
	const n = 1000
	kept := make([]*corev1.Pod, n)
	before := measure.Heap()
	for i := range kept {
		pod := like
		kept[i] = &pod
	}
	size := (measure.Heap() - before) / n
	runtime.KeepAlive(kept)
	return size
}

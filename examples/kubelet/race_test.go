package kubelet_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/kubelet"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/hollow"
)

// lateLists is a runtime whose first list of containers that is asked for while one is made lacks that, and comes when the
// container has been started.
type lateLists struct {
	*hollow.Runtime
	making, listed, started chan struct{}
	make, list, start       sync.Once

	mu   sync.Mutex
	made int // guarded by mu
}

func (l *lateLists) CreateContainer(ctx context.Context, sandbox string, c runtime.ContainerConfig) (string, error) {
	l.mu.Lock()
	l.made++
	l.mu.Unlock()
	l.make.Do(func() { close(l.making); <-l.listed })
	return l.Runtime.CreateContainer(ctx, sandbox, c)
}

func (l *lateLists) StartContainer(ctx context.Context, id string) error {
	defer l.start.Do(func() { close(l.started) })
	return l.Runtime.StartContainer(ctx, id)
}

func (l *lateLists) ListContainers(ctx context.Context) ([]runtime.Container, error) {
	all, err := l.Runtime.ListContainers(ctx)
	select {
	case <-l.making:
		l.list.Do(func() {
			close(l.listed)
			<-l.started
			<-time.After(50 * time.Millisecond) // who has started it notes that; nothing tells when
		})
	default:
	}
	return all, err
}

// TestListIsLate: a container is not made again since a list of containers is from before it was.
func TestListIsLate(t *testing.T) {
	r := newRig(t)
	late := &lateLists{Runtime: r.runtime, making: make(chan struct{}), listed: make(chan struct{}), started: make(chan struct{})}
	r.run(func(o *kubelet.Options) { o.Runtime = late })
	r.create(pod("a", nil))
	r.until("a", ready)
	r.create(pod("b", func(p *corev1.Pod) { p.Spec.Containers[0].Name = "b" }))
	r.until("b", ready)
	require.Len(t, r.containers("main"), 1)
	late.mu.Lock()
	defer late.mu.Unlock()
	require.Equal(t, 2, late.made)
}

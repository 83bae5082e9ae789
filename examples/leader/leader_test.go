package leader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/leader"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an API server with candidates, whose time goes twenty times as fast.
type world struct {
	t       *testing.T
	server  *apiserver.Server
	cluster *kube.Cluster
	clock   *clock.Mock
	running sync.WaitGroup
	leading atomic.Int32
	// leads gets the name of each candidate when it begins to lead.
	leads chan string
}

// at is where the lease is.
var at = listwatch.Key{Namespace: "default", Name: "it"}

func start(t *testing.T) *world {
	t.Helper()
	server, err := apiserver.Start(t.Context(), apiserver.Options{})
	require.NoError(t, err)
	w := &world{t: t, server: server, clock: clock.NewMock(), leads: make(chan string, 1000)}
	w.clock.Set(time.Now())
	w.cluster, err = kube.Connect(&clientrest.Config{Host: server.URL()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	w.running.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.clock.Add(200 * time.Millisecond)
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		w.running.Wait()
		w.cluster.Close()
		require.NoError(t, server.Close())
	})
	return w
}

// candidate is one of them.
type candidate struct {
	// cut makes its requests fail, after a time when slow is set; when dead is set, none is sent.
	cut, slow, dead atomic.Bool
	// unheard gets something when a write has come through whose answer is held back.
	unheard chan struct{}
	// late is after how many nanoseconds its writes come through, even those that it has given up.
	late    atomic.Int64
	running *sync.WaitGroup
	stop    context.CancelFunc
	done    chan struct{}
	err     error
}

// through sends a request unless the candidate is cut off.
func (c *candidate) through(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if c.dead.Load() {
			return nil, errors.New("there is nobody")
		}
		if d := time.Duration(c.late.Load()); d > 0 && r.Method == http.MethodPut {
			return c.deliver(next, r, d)
		}
		answer, err := next.RoundTrip(r)
		if !c.cut.Load() {
			return answer, err
		}
		if err == nil {
			_ = answer.Body.Close()
		}
		if c.slow.Load() {
			if r.Method == http.MethodPut {
				select {
				case c.unheard <- struct{}{}:
				default:
				}
			}
			<-r.Context().Done()
		}
		return nil, errors.New("the way is cut") // and the request may have come through
	})
}

// deliver lets a write come through after some time, though nobody may wait for it any more.
func (c *candidate) deliver(next http.RoundTripper, r *http.Request, d time.Duration) (*http.Response, error) {
	sent := r.Clone(context.WithoutCancel(r.Context()))
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	sent.Body = io.NopCloser(bytes.NewReader(body))
	type result struct {
		answer *http.Response
		err    error
	}
	answered := make(chan result, 1)
	c.running.Go(func() {
		<-time.After(d)
		answer, err := next.RoundTrip(sent)
		if err == nil { // nobody may be there to close it
			var read []byte
			read, err = io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			answer.Body = io.NopCloser(bytes.NewReader(read))
		}
		answered <- result{answer, err}
	})
	select {
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	case got := <-answered:
		return got.answer, got.err
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// run runs a candidate, which leads until act returns.
func (w *world) run(name string, act func(context.Context) error) *candidate {
	c := &candidate{done: make(chan struct{}), unheard: make(chan struct{}, 1), running: &w.running}
	cluster, err := kube.Connect(&clientrest.Config{Host: w.server.URL(), WrapTransport: c.through})
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	c.stop = cancel
	o := leader.Options{Cluster: cluster, Namespace: at.Namespace, Name: at.Name, Identity: name, LeaseDuration: time.Minute, Clock: w.clock,
		Logger: slog.New(slog.DiscardHandler)}
	w.running.Go(func() {
		defer close(c.done)
		defer cluster.Close()
		c.err = leader.Run(ctx, o, func(ctx context.Context) error {
			if n := w.leading.Add(1); n != 1 {
				w.t.Errorf("%d lead at once", n)
			}
			defer w.leading.Add(-1)
			w.leads <- name
			return act(ctx)
		})
	})
	w.t.Cleanup(cancel)
	return c
}

// until acts until its context is done.
func until(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// lease reads the lease.
func (w *world) lease() *coordinationv1.LeaseSpec {
	l, err := kube.For[*coordinationv1.Lease](w.cluster).Get(w.t.Context(), at)
	require.NoError(w.t, err)
	return &l.Spec
}

func TestHandedOver(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.run("a", until)
	require.Equal(t, "a", <-w.leads)
	spec := w.lease()
	require.Equal(t, "a", *spec.HolderIdentity)
	require.Equal(t, int32(60), *spec.LeaseDurationSeconds)
	require.NotNil(t, spec.AcquireTime)
	b := w.run("b", until)
	before := w.clock.Now()
	for w.clock.Since(before) < 2*time.Minute { // it is renewed all that time
		<-time.After(time.Millisecond)
	}
	require.Equal(t, "a", *w.lease().HolderIdentity)
	require.Empty(t, w.leads)
	before = w.clock.Now()
	a.stop()
	require.Equal(t, "b", <-w.leads)
	require.Less(t, w.clock.Since(before), 50*time.Second, "before it has run out")
	<-a.done
	require.NoError(t, a.err)
	require.Equal(t, int32(1), *w.lease().LeaseTransitions)
	b.stop()
	<-b.done
	require.Empty(t, *w.lease().HolderIdentity)
}

// A leader that returns gives the lease back, and its error.
func TestReturns(t *testing.T) {
	t.Parallel()
	w := start(t)
	bad := errors.New("it went wrong")
	a := w.run("a", func(context.Context) error { return bad })
	<-a.done
	require.ErrorIs(t, a.err, bad)
	require.Empty(t, *w.lease().HolderIdentity)
}

func TestDies(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.run("a", until)
	require.Equal(t, "a", <-w.leads)
	a.dead.Store(true) // it can't give the lease back
	a.stop()
	<-a.done
	before := w.clock.Now()
	w.run("b", until)
	require.Equal(t, "b", <-w.leads)
	require.GreaterOrEqual(t, w.clock.Since(before), time.Minute)
	// Under its old identity one goes on at once.
	b := w.run("a", until)
	require.Empty(t, w.leads)
	b.stop()
	<-b.done
}

func TestCutOff(t *testing.T) {
	t.Parallel()
	for _, slow := range []bool{false, true} {
		w := start(t)
		ended := make(chan time.Time, 10)
		a := w.run("a", func(ctx context.Context) error {
			<-ctx.Done()
			ended <- w.clock.Now()
			return nil
		})
		require.Equal(t, "a", <-w.leads)
		w.run("b", until)
		before := w.clock.Now()
		a.slow.Store(slow)
		a.cut.Store(true)
		w.server.CutConnections()
		require.Less(t, (<-ended).Sub(before), 45*time.Second)
		require.Equal(t, "b", <-w.leads)
		a.cut.Store(false)
		require.Equal(t, "b", *w.lease().HolderIdentity)
	}
}

// A renewal that came through unheard changes the lease; it is given back all the same.
func TestGivesBackUnheard(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.run("a", until)
	require.Equal(t, "a", <-w.leads)
	w.run("b", until)
	a.slow.Store(true)
	a.cut.Store(true)
	<-a.unheard
	a.cut.Store(false)
	before := w.clock.Now()
	a.stop()
	require.Equal(t, "b", <-w.leads)
	require.Less(t, w.clock.Since(before), 50*time.Second, "before it has run out")
	<-a.done
	require.NoError(t, a.err)
}

// An answer that is read when the time is over makes nobody a leader: others may have waited it out.
func TestAnsweredLate(t *testing.T) {
	t.Parallel()
	w := start(t)
	stopped := clock.NewMock()
	var late atomic.Bool
	cluster, err := kube.Connect(&clientrest.Config{Host: w.server.URL(), WrapTransport: func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if err != nil || r.Method != http.MethodPost || !late.CompareAndSwap(false, true) {
				return answer, err
			}
			body, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			answer.Body = io.NopCloser(bytes.NewReader(body))
			stopped.Add(2 * time.Minute)
			return answer, err
		})
	}})
	require.NoError(t, err)
	defer cluster.Close()
	asked := stopped.Now()
	ctx, cancel := context.WithCancel(t.Context())
	o := leader.Options{Cluster: cluster, Namespace: at.Namespace, Name: at.Name, Identity: "a", LeaseDuration: time.Minute, Clock: stopped}
	require.NoError(t, leader.Run(ctx, o, func(ctx context.Context) error {
		defer cancel()
		spec := w.lease()
		require.True(t, spec.RenewTime.After(asked.Add(time.Minute)), "it leads by what it asked for %v ago", stopped.Since(spec.RenewTime.Time))
		return nil
	}))
	require.True(t, late.Load())
}

func TestDeleted(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.run("a", until)
	require.Equal(t, "a", <-w.leads)
	w.run("b", until)
	for range 3 {
		<-time.After(50 * time.Millisecond)
		require.NoError(t, kube.For[*coordinationv1.Lease](w.cluster).Delete(t.Context(), at, metav1.DeleteOptions{}))
		require.Eventually(t, func() bool {
			l, err := kube.For[*coordinationv1.Lease](w.cluster).Get(t.Context(), at)
			return err == nil && *l.Spec.HolderIdentity == "a"
		}, time.Minute, time.Millisecond)
	}
	require.Empty(t, w.leads)
}

func TestTaken(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.run("a", until)
	require.Equal(t, "a", <-w.leads)
	_, err := kube.For[*coordinationv1.Lease](w.cluster).Patch(t.Context(), at, kube.Patch{Body: map[string]any{"spec": map[string]any{"holderIdentity": "x"}}})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return w.leading.Load() == 0 }, time.Minute, time.Millisecond)
	require.Equal(t, "a", <-w.leads, "after the other's time")
	require.Equal(t, int32(1), *w.lease().LeaseTransitions)
}

func TestOdd(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]coordinationv1.LeaseSpec{
		"empty": {}, "negative": {HolderIdentity: ptr.To("x"), LeaseDurationSeconds: ptr.To[int32](1), RenewTime: &metav1.MicroTime{}},
		"from the future": {HolderIdentity: ptr.To("x"), LeaseDurationSeconds: ptr.To[int32](2), RenewTime: ptr.To(metav1.NewMicroTime(time.Now().AddDate(10, 0, 0)))},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			_, err := kube.For[*coordinationv1.Lease](w.cluster).Create(t.Context(), &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}, Spec: spec})
			require.NoError(t, err)
			w.run("a", until)
			require.Equal(t, "a", <-w.leads)
		})
	}
	require.Error(t, leader.Run(t.Context(), leader.Options{}, until))
	require.Error(t, leader.Run(t.Context(), leader.Options{Cluster: start(t).cluster, Namespace: "a", Name: "b", Identity: "c",
		LeaseDuration: time.Minute, RenewDeadline: time.Minute}, until))
}

func TestNeverTwo(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := start(t)
	var all []*candidate
	for i := range 3 {
		all = append(all, w.run(fmt.Sprint("c", i), until))
	}
	for range 25 {
		switch i := random.IntN(len(all)); random.IntN(6) {
		case 4: // around the deadline, which is 2 s of real time
			all[i].late.Store(int64(random.IntN(3000)) * int64(time.Millisecond))
		case 0:
			all[i].slow.Store(random.IntN(2) == 0)
			all[i].cut.Store(true)
		case 1, 2:
			all[i].cut.Store(false)
			all[i].late.Store(0)
		case 3:
			w.server.CutConnections()
		default:
			all[i].stop()
			<-all[i].done
			all[i] = w.run(fmt.Sprint("c", i), until)
		}
		<-time.After(time.Duration(random.IntN(200)) * time.Millisecond)
	}
	for _, c := range all {
		c.cut.Store(false)
		c.late.Store(0)
	}
	require.Eventually(t, func() bool { return w.leading.Load() == 1 }, time.Minute, time.Millisecond)
}

// theirs is a candidate of client-go's, which lives by the real time.
func theirs(ctx context.Context, w *world, name string, leads func()) {
	client, err := kubernetes.NewForConfig(&clientrest.Config{Host: w.server.URL(), QPS: -1})
	require.NoError(w.t, err)
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name}},
		LeaseDuration: time.Minute, RenewDeadline: 40 * time.Second, RetryPeriod: 100 * time.Millisecond, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { leads() }, OnStoppedLeading: func() {}},
	})
}

func TestWithClientGo(t *testing.T) {
	t.Parallel()
	w := start(t)
	ours := w.run("ours", until)
	require.Equal(t, "ours", <-w.leads)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	led := make(chan struct{})
	w.running.Go(func() { theirs(ctx, w, "theirs", func() { close(led) }) })
	select {
	case <-led:
		t.Fatal("both lead")
	case <-time.After(300 * time.Millisecond):
	}
	ours.stop()
	<-led
	require.Equal(t, "theirs", *w.lease().HolderIdentity)
	w.run("ours again", until)
	select {
	case <-w.leads:
		t.Fatal("both lead")
	case <-time.After(50 * time.Millisecond):
	}
	cancel()
	require.Equal(t, "ours again", <-w.leads)
}

package informer_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
)

// ears are an OnError that calls the informer, which no lock may be held for.
type ears struct {
	pods  *pods
	heard []error
}

func (e *ears) hear(err error) {
	e.pods.Stats()
	e.pods.Health()
	e.heard = append(e.heard, err)
}

func (e *ears) rig(t *testing.T) *rig {
	r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{OnError: e.hear})
	e.pods = r.pods
	return r
}

func TestFaultOfAnIndexIsHeard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var e ears
		r := e.rig(t)
		odd := func(o *object) []string {
			if o.Value == "odd" {
				panic("odd")
			}
			return []string{o.Value}
		}
		index, err := indexer.AddIndex(r.Indexer(), "odd", odd)
		require.NoError(t, err)
		var d diary
		r.handle(d.handle, informer.HandlerOptions{})
		r.start().sync()
		r.put("a", "odd")
		r.put("b", "even")
		r.sync()
		require.Len(t, e.heard, 1)
		var fault *indexer.Fault
		require.ErrorAs(t, e.heard[0], &fault)
		require.Equal(t, "indexer pods: index odd: object ns/a: panic: odd", fault.Error())
		require.Equal(t, []string{"Add a odd", "Add b even"}, d.read())
		require.Equal(t, []listwatch.Key{key("b")}, index.Keys("even"))

		_, err = indexer.AddIndex(r.Indexer(), "late", odd)
		require.NoError(t, err)
		require.Len(t, e.heard, 2, "a fault found by AddIndex is heard at once")
		require.ErrorContains(t, e.heard[1], "index late: object ns/a")
	})
}

func TestOptionsOfThePartsWin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var all, index, source []error
		o := informer.Options{OnError: func(err error) { all = append(all, err) }}
		o.Index.Name = "shelf"
		o.Index.OnError = func(err error) {
			index = append(index, err)
			panic("survived")
		}
		o.Reflector.Name = "reader"
		o.Reflector.OnError = func(err error) { source = append(source, err) }
		r := newRig(t, newServer(fakes.Options[*object]{}), o)
		require.Equal(t, "pods", r.Name())
		_, err := indexer.AddIndex(r.Indexer(), "odd", func(*object) []string { panic("odd") })
		require.NoError(t, err)
		r.server.Fail(fakes.VerbWatch, fakes.Status(401, "who are you"))
		r.put("a", "1")
		r.start().sync()
		require.Empty(t, all)
		require.Len(t, index, 1)
		require.ErrorContains(t, index[0], "indexer shelf")
		require.Len(t, source, 1)
		require.ErrorContains(t, source[0], "reflector reader")
	})
}

// A function that ends the goroutine of Run ends the informer; it does not leave it hanging.
func TestGoexitInRunEndsTheInformer(t *testing.T) {
	for name, arm := range map[string]func(*rig){
		"index": func(r *rig) {
			_, err := indexer.AddIndex(r.Indexer(), "bad", func(*object) []string { runtime.Goexit(); return nil })
			require.NoError(r.t, err)
		},
		"signal": func(r *rig) { r.Reached("2").AfterFunc(runtime.Goexit) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var e ears
				r := e.rig(t)
				reg := r.handle((&diary{}).handle, informer.HandlerOptions{})
				arm(r)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_ = r.Run(context.Background())
				}()
				synctest.Wait()
				r.put("a", "1")
				<-ended
				require.Zero(t, r.server.Watches())
				<-reg.Done()
				require.ErrorIs(t, reg.Err(), listwatch.ErrStopped)
				require.False(t, r.Health().Running)
				require.Len(t, e.heard, 1)
				require.ErrorContains(t, e.heard[0], "informer pods: a function ended the goroutine of Run")
				require.ErrorIs(t, r.Run(t.Context()), listwatch.ErrStopped)
			})
		})
	}
}

func TestPanicOfASignalFunctionIsSurvived(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var e ears
		r := e.rig(t)
		var d diary
		reg := r.handle(d.handle, informer.HandlerOptions{})
		no := func() { panic("no") }
		r.Synced().AfterFunc(no)
		r.Reached("2").AfterFunc(no)
		last := r.Reached("2")
		reg.Synced().AfterFunc(no)
		r.start().sync()
		r.put("a", "1")
		r.sync()
		require.True(t, last.Fired(), "the others are told")
		require.Equal(t, []string{"Add a 1"}, d.read())
		require.NoError(t, reg.Err())
		require.Len(t, e.heard, 3)
		for _, err := range e.heard {
			require.ErrorContains(t, err, "informer pods: panic in a function of a signal: no")
		}
	})
}

func TestGoexitOfASignalFunctionEndsTheRegistration(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var e ears
		r := e.rig(t)
		reg := r.handle((&diary{}).handle, informer.HandlerOptions{})
		reg.Synced().AfterFunc(runtime.Goexit)
		r.start().sync()
		<-reg.Done()
		require.ErrorContains(t, reg.Err(), "ended its goroutine")
		require.Len(t, e.heard, 1)
		require.ErrorContains(t, e.heard[0], "informer pods: handler: the handler ended its goroutine")
		require.Empty(t, r.Stats().Handlers)
	})
}

func TestOverrunIsHeard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var e ears
		r := e.rig(t)
		r.start().sync()
		release := make(chan struct{})
		reg := r.handle(func(context.Context, change) { <-release },
			informer.HandlerOptions{Name: "slow", Policy: informer.EveryEvent, Backlog: 1})
		for n := range 5 {
			r.put("a", fmt.Sprint(n))
			synctest.Wait()
		}
		close(release)
		<-reg.Done()
		require.Len(t, e.heard, 1)
		require.ErrorIs(t, e.heard[0], informer.ErrOverrun)
		require.ErrorContains(t, e.heard[0], "informer pods: slow: ")
	})
}

// heldContext counts what hangs on it. It is not one that package context knows.
type heldContext struct {
	context.Context
	done chan struct{}
	held atomic.Int64
}

func (c *heldContext) Done() <-chan struct{} { return c.done }
func (c *heldContext) Value(any) any         { return nil }

func (c *heldContext) AfterFunc(func()) (stop func() bool) {
	c.held.Add(1)
	var once sync.Once
	return func() bool {
		once.Do(func() { c.held.Add(-1) })
		return true
	}
}

// A context that outlives the registration must not keep the informer alive.
func TestEndedRegistrationLeavesItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx := &heldContext{Context: context.Background(), done: make(chan struct{})}
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		r.start().sync()
		add := func(h function, o informer.HandlerOptions) *informer.Registration {
			reg, err := r.AddHandler(ctx, h, o)
			require.NoError(t, err)
			return reg
		}
		add((&diary{}).handle, informer.HandlerOptions{}).Remove()
		require.Zero(t, ctx.held.Load(), "removed")
		exits := add(func(context.Context, change) { runtime.Goexit() }, informer.HandlerOptions{})
		r.put("a", "1")
		<-exits.Done()
		require.Zero(t, ctx.held.Load(), "ended its goroutine")
		release := make(chan struct{})
		late := add(func(context.Context, change) { <-release }, informer.HandlerOptions{Policy: informer.EveryEvent, Backlog: 1})
		for n := range 5 {
			r.put("a", fmt.Sprint(n))
			synctest.Wait()
		}
		close(release)
		<-late.Done()
		require.Zero(t, ctx.held.Load(), "overrun")
		add((&diary{}).handle, informer.HandlerOptions{})
		require.NotZero(t, ctx.held.Load())
		r.stop()
		require.Zero(t, ctx.held.Load(), "stopped")
		_, err := r.AddHandler(ctx, (&diary{}).handle, informer.HandlerOptions{})
		require.ErrorIs(t, err, listwatch.ErrStopped)
		require.Zero(t, ctx.held.Load(), "refused")
	})
}

// Whoever has waited for Done knows why.
func TestErrIsThereWhenDone(t *testing.T) {
	t.Parallel()
	i := informer.New[*object](newServer(fakes.Options[*object]{}), quiet(informer.Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	run := make(chan error)
	go func() { run <- i.Run(ctx) }()
	require.NoError(t, i.WaitForSync(ctx))
	for range 5000 {
		own, leave := context.WithCancel(ctx)
		reg, err := i.AddHandler(own, (&diary{}).handle, informer.HandlerOptions{})
		require.NoError(t, err)
		leave()
		<-reg.Done()
		require.ErrorIs(t, reg.Err(), context.Canceled)
	}
	cancel()
	require.NoError(t, <-run)
}

func TestWaitForSyncInsideAHandlerEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{NoInitialEvents: true}), informer.Options{SyncTimeout: -1, Reflector: pages(1)})
		r.put("a", "1")
		r.put("b", "1")
		r.server.Fail(fakes.VerbList, nil)
		for range 100 {
			r.server.Fail(fakes.VerbList, fakes.Status(500, "no second page"))
		}
		var waited error
		r.handle(func(context.Context, change) { waited = r.WaitForSync(context.Background()) }, informer.HandlerOptions{})
		r.start()
		time.Sleep(time.Minute)
		require.NoError(t, waited)
		r.stop()
		require.ErrorIs(t, waited, listwatch.ErrStopped)
		require.ErrorContains(t, waited, "no second page")
	})
}

func TestDeliveredCountsWhatWasTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, newServer(fakes.Options[*object]{}), informer.Options{})
		for n := range 10 {
			r.put(fmt.Sprint(n), "1")
		}
		calls := 0
		ctx, leave := context.WithCancel(t.Context())
		reg, err := r.AddHandler(ctx, func(context.Context, change) {
			if calls++; calls == 3 {
				leave()
			}
			if calls == 2 {
				panic("counts, too")
			}
		}, informer.HandlerOptions{})
		require.NoError(t, err)
		r.start()
		<-reg.Done()
		require.Equal(t, 3, calls)
		require.Equal(t, informer.HandlerStats{Name: "handler", Delivered: 3, Panics: 1}, reg.Stats())
	})
}

// Scenario 60: with CrashOnPanic the process dies, and says of what.
func TestCrashOnPanic(t *testing.T) {
	if os.Getenv("INFORMER_TEST_CRASH") != "" {
		crash(os.Getenv("INFORMER_TEST_CRASH"))
		return
	}
	t.Parallel()
	for _, where := range []string{"handler", "signal"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashOnPanic$", "-test.timeout=20s")
		cmd.Env = append(os.Environ(), "INFORMER_TEST_CRASH="+where)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		text := string(out)
		require.True(t, strings.Contains(text, "panic: loud "+where) && strings.Contains(text, "goroutine "), text)
	}
}

func crash(where string) {
	s := newServer(fakes.Options[*object]{})
	_, _ = s.Put(named("a", "1"))
	i := informer.New[*object](s, quiet(informer.Options{CrashOnPanic: true}))
	loud := func() { panic("loud " + where) }
	if where == "signal" {
		// Nor is it held up by a handler that hangs.
		entered := make(chan struct{})
		_, _ = i.AddHandler(context.Background(), func(context.Context, change) {
			close(entered)
			select {}
		}, informer.HandlerOptions{})
		i.Synced().AfterFunc(func() {
			<-entered
			loud()
		})
	} else {
		_, _ = i.AddHandler(context.Background(), func(context.Context, change) { loud() }, informer.HandlerOptions{})
	}
	_ = i.Run(context.Background())
}

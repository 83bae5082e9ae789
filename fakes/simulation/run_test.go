package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/simulation"
)

// few are options of a small run.
var few = simulation.Options{Seed: 7, Scenarios: 2, Operations: 30, Parallel: 1}

// served makes a world of one server that foreign clients write.
func served(w *simulation.World) *fakes.Source[*fakes.Object] {
	return simulation.Serve(w, "things", fakes.StampObject, simulation.ServeOptions[*fakes.Object]{
		Mutate: func(rng *rand.Rand, k listwatch.Key, held *fakes.Object) *fakes.Object {
			return &fakes.Object{Meta: listwatch.Meta{Namespace: k.Namespace, Name: k.Name}, Value: fmt.Sprint(rng.IntN(9))}
		},
	})
}

// breaks reports whether a replay fails.
func breaks(setup func(*simulation.World), script string) (failed bool) {
	inTest(func(t *testing.T) {
		simulation.Replay(t, setup, script)
		failed = t.Failed()
	})
	return failed
}

// TestShortestScript: of many operations those are left that break the promise together.
func TestShortestScript(t *testing.T) {
	t.Parallel()
	setup := func(w *simulation.World) {
		things := served(w)
		w.AtRest("k1 is never gone", func() error {
			for _, o := range things.Objects() {
				if o.Name == "k1" {
					return nil
				}
			}
			if things.Version() == "1" {
				return nil
			}
			return errors.New("it is")
		})
	}
	o := few
	o.Scenarios = 50
	f := simulation.Find(t, setup, o)
	require.NotNil(t, f)
	require.Equal(t, "k1 is never gone", f.Promise)
	require.Equal(t, "it is", f.Text)
	lines := strings.Split(f.Script, "\n")
	require.Less(t, len(lines), 6, f.Script)
	require.True(t, breaks(setup, f.Script))
	for i := range lines {
		require.False(t, breaks(setup, strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "\n")), "without line %d of %s", i, f.Script)
	}
	require.Contains(t, f.String(), "simulation.Replay(t, setup, `\n"+f.Script+"\n`)")

	o.Shrink, o.Seed, o.Scenarios = -1, f.Seed, 1
	whole := simulation.Find(t, setup, o)
	require.Len(t, strings.Split(whole.Script, "\n"), 31+4, "it is left as it is")
}

func TestSeedMakesOneScript(t *testing.T) {
	t.Parallel()
	setup := func(w *simulation.World) {
		served(w)
		w.AtRest("no rest", func() error { return errors.New("never") })
	}
	o := few
	o.Shrink = -1
	a, b := simulation.Find(t, setup, o), simulation.Find(t, setup, o)
	require.Equal(t, a, b)
	o.Seed++
	require.NotEqual(t, a.Script, simulation.Find(t, setup, o).Script)
}

// TestScriptIsWhatWasDone: a replay does the same operations with the same choices.
func TestScriptIsWhatWasDone(t *testing.T) {
	t.Parallel()
	var did []string
	setup := func(w *simulation.World) {
		did = append(did, w.Choose("colour", "red", "green", "blue"))
		w.Operate(simulation.Operation{
			Name: "say", Weight: 50,
			Make: func(rng *rand.Rand) string { return fmt.Sprint("word ", rng.IntN(100)) },
			Do: func(words []string) error {
				did = append(did, strings.Join(words, " "))
				return nil
			},
		})
		w.AtRest("never", func() error { return errors.New("broken") })
	}
	o := few
	o.Shrink = -1
	f := simulation.Find(t, setup, o)
	first := did
	did = nil
	require.True(t, breaks(setup, "\n# as it was\n"+f.Script))
	require.Equal(t, first, did)
	require.Greater(t, len(did), 10)
	did = nil
	simulation.Replay(t, setup, "say hello # a comment")
	require.Equal(t, []string{"red", "hello"}, did)
}

func TestScenariosAreLargeEnough(t *testing.T) {
	t.Parallel()
	r := simulation.Run(t, func(w *simulation.World) { served(w) }, simulation.Options{Scenarios: 1, Seed: 3})
	require.Equal(t, 201, r.Operations)
	require.GreaterOrEqual(t, len(r.Faults), 3)
	require.Zero(t, r.Violations)
	require.Regexp(t, `^simulation: seed 3, 1 scenarios, 201 operations, faults: [a-z-]+ \d+, .*; \d+\.\d simulated hours, 0 violations$`, r.String())
	r = simulation.Run(t, func(w *simulation.World) { served(w) }, simulation.Options{For: 50 * time.Millisecond})
	require.Positive(t, r.Scenarios)
	require.Positive(t, r.Seed)
}

func TestFindsWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	f := simulation.Find(t, func(w *simulation.World) {
		w.Start(func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(61 * time.Second)
			return nil
		})
	}, few)
	require.Equal(t, "what was started ends with its context", f.Promise)
}

func TestFindsWhatIsLeftBehind(t *testing.T) {
	t.Parallel()
	f := simulation.Find(t, func(w *simulation.World) {
		w.Start(func(context.Context) error {
			go waitForEver()
			return nil
		})
	}, simulation.Options{Seed: 7, Scenarios: 1, Operations: 3, Parallel: 1, Shrink: -1})
	require.Equal(t, "nothing is left behind", f.Promise)
	require.Contains(t, f.Text, "blocked goroutines remain")
}

func TestFindsWhatWaitsForEver(t *testing.T) {
	t.Parallel()
	f := simulation.Find(t, func(w *simulation.World) {
		w.Operate(simulation.Operation{Name: "wait", Weight: 1000, Do: func([]string) error {
			waitForEver()
			return nil
		}})
	}, simulation.Options{Seed: 7, Scenarios: 1, Operations: 3, Parallel: 1, Shrink: -1})
	require.Equal(t, "nothing waits for ever", f.Promise)
}

func TestFindsWhatPanics(t *testing.T) {
	t.Parallel()
	f := simulation.Find(t, func(w *simulation.World) {
		w.Start(func(context.Context) error { panic("oops") })
	}, few)
	require.Equal(t, "what was started does not panic", f.Promise)
	require.Contains(t, f.Text, "oops")
}

func TestFindsWhatFailsForEver(t *testing.T) {
	t.Parallel()
	f := simulation.Find(t, func(w *simulation.World) {
		w.Start(func(context.Context) error { return errors.New("a bad configuration") })
		w.AtRest("something is done", func() error { return errors.New("nothing is") })
	}, few)
	require.Equal(t, "what was started goes on at rest", f.Promise)
	require.Contains(t, f.Text, "a bad configuration")
}

func TestServeWantsOneWord(t *testing.T) {
	t.Parallel()
	setup := func(w *simulation.World) {
		require.Panics(t, func() {
			simulation.Serve(w, "two words", fakes.StampObject, simulation.ServeOptions[*fakes.Object]{})
		})
	}
	simulation.Replay(t, setup, "rest")
}

func TestStartsAgain(t *testing.T) {
	t.Parallel()
	var starts int
	simulation.Replay(t, func(w *simulation.World) {
		begin := w.Now()
		w.Start(func(ctx context.Context) error {
			if starts++; starts < 3 {
				return errors.New("not yet")
			}
			if d := w.Now().Sub(begin); starts == 3 && d != 20*time.Second {
				w.Fail("it is started again after ten seconds", "%s", d)
			}
			<-ctx.Done()
			return nil
		})
	}, "sleep 1m\nrestart")
	require.Equal(t, 4, starts)
}

// TestLooksAfterEachWrite: an object that lives for a moment is seen by a promise.
func TestLooksAfterEachWrite(t *testing.T) {
	t.Parallel()
	setup := func(w *simulation.World) {
		things := served(w)
		w.Start(func(ctx context.Context) error {
			time.Sleep(10 * time.Second)
			o, err := things.Create(&fakes.Object{Meta: listwatch.Meta{Name: "brief"}})
			time.Sleep(time.Nanosecond)
			_, _ = things.Delete(listwatch.KeyOf(o), fakes.Preconditions{})
			return err
		})
		w.Always("nothing is brief", func() error {
			if len(things.Objects()) > 0 {
				return errors.New("it is")
			}
			return nil
		})
	}
	require.True(t, breaks(setup, "sleep 20s"))
}

func TestBadOptionsAndScripts(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "simulation: Scenarios is -1, less than 0\nRest is -1, less than 0", func() {
		simulation.Run(t, func(*simulation.World) {}, simulation.Options{Scenarios: -1, Rest: -1})
	})
	for _, script := range []string{"dance", "sleep", "put-things k", "put-things a/b/c 1", "put-things k x", "delete-things x", "fault things", "fault things dance"} {
		require.True(t, breaks(func(w *simulation.World) { served(w) }, script), script)
	}
}

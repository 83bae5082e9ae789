package collector_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/prometheus/collector"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object = fakes.Object

// running returns a collector of an informer with two objects and three handlers, and of a queue.
func running(t *testing.T) (*collector.Collector, *fakes.Source[*object], *workqueue.Queue[string]) {
	source := fakes.New(fakes.StampObject, fakes.Options[*object]{})
	for _, name := range []string{"a", "b"} {
		_, err := source.Put(&object{Meta: listwatch.Meta{Name: name}})
		require.NoError(t, err)
	}
	factory := &informer.Factory{}
	pods, err := informer.Of[*object](factory, "pods", source)
	require.NoError(t, err)
	for range 2 {
		_, err = pods.AddHandler(t.Context(), func(context.Context, informer.Change[*object]) {}, informer.HandlerOptions{Name: "fine"})
		require.NoError(t, err)
	}
	_, err = pods.AddHandler(t.Context(), func(ctx context.Context, _ informer.Change[*object]) { <-ctx.Done() },
		informer.HandlerOptions{Name: "stuck"})
	require.NoError(t, err)
	queue := workqueue.New[string](workqueue.Options{Name: "pods"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- factory.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		queue.Close()
	})
	require.NoError(t, pods.WaitForSync(ctx))
	synctest.Wait()
	c := collector.New(collector.Options{
		Factory: factory, Informers: []informer.Inspected{pods}, Queues: []informer.Queue{queue, queue},
	})
	return c, source, queue
}

// compare checks that the metrics of these names are exactly these, comments left out.
func compare(t *testing.T, c prometheus.Collector, want string, names ...string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	families, err := registry.Gather()
	require.NoError(t, err)
	var text strings.Builder
	for _, f := range families {
		for _, name := range names {
			if f.GetName() == name {
				text.WriteString("# HELP " + name + " " + f.GetHelp() + "\n# TYPE " + name + " " + strings.ToLower(f.GetType().String()) + "\n")
				for line := range strings.Lines(want) {
					if line = strings.TrimSpace(line); strings.HasPrefix(line, name) {
						text.WriteString(line + "\n")
					}
				}
			}
		}
	}
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(text.String()), names...))
}

func TestInformersAndHandlers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, source, _ := running(t)
		time.Sleep(30 * time.Second)
		compare(t, c, `
			listwatch_informer_objects{informer="pods"} 2
			listwatch_informer_synced{informer="pods"} 1
			listwatch_informer_state{informer="pods",state="Idle"} 0
			listwatch_informer_state{informer="pods",state="Listing"} 0
			listwatch_informer_state{informer="pods",state="Stopped"} 0
			listwatch_informer_state{informer="pods",state="Waiting"} 0
			listwatch_informer_state{informer="pods",state="Watching"} 1
			listwatch_informer_age_seconds{informer="pods"} 30
			listwatch_informer_lag_keys{informer="pods"} 0
			listwatch_informer_changes_total{informer="pods"} 2
			listwatch_informer_relists_total{informer="pods",kind="compare"} 0
			listwatch_informer_relists_total{informer="pods",kind="rebuild"} 1
			listwatch_handlers{handler="fine",informer="pods"} 2
			listwatch_handlers{handler="stuck",informer="pods"} 1
			listwatch_handler_delivered_total{handler="fine",informer="pods"} 4
			listwatch_handler_delivered_total{handler="stuck",informer="pods"} 0
			listwatch_handler_pending_changes{handler="fine",informer="pods"} 0
			listwatch_handler_pending_changes{handler="stuck",informer="pods"} 2
			listwatch_handler_synced{handler="fine",informer="pods"} 1
			listwatch_handler_synced{handler="stuck",informer="pods"} 0
		`, "listwatch_informer_objects", "listwatch_informer_synced", "listwatch_informer_state", "listwatch_informer_age_seconds",
			"listwatch_informer_lag_keys", "listwatch_informer_changes_total", "listwatch_informer_relists_total", "listwatch_handlers",
			"listwatch_handler_delivered_total", "listwatch_handler_pending_changes", "listwatch_handler_synced")

		source.Drop(1)
		_, err := source.Put(&object{Meta: listwatch.Meta{Name: "lost"}})
		require.NoError(t, err)
		_, err = source.Put(&object{Meta: listwatch.Meta{Name: "seen"}})
		require.NoError(t, err)
		time.Sleep(2 * time.Hour)
		compare(t, c, `
			listwatch_informer_objects{informer="pods"} 4
			listwatch_informer_drift_total{informer="pods"} 1
		`, "listwatch_informer_objects", "listwatch_informer_drift_total")
	})
}

func TestQueuesHaveTheNamesThatPeopleKnow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, queue := running(t)
		for _, k := range []string{"a", "b", "c"} {
			queue.Add(k)
		}
		time.Sleep(2 * time.Second)
		for range 2 {
			_, err := queue.Get(t.Context())
			require.NoError(t, err)
		}
		time.Sleep(5 * time.Second)
		queue.Finish("a", workqueue.Result{}, errors.New("no"))
		queue.AddAfter("later", time.Hour)
		compare(t, c, `
			workqueue_depth{name="pods"} 1
			workqueue_adds_total{name="pods"} 4
			workqueue_retries_total{name="pods"} 1
			workqueue_unfinished_work_seconds{name="pods"} 5
			workqueue_longest_running_processor_seconds{name="pods"} 5
			workqueue_queue_duration_seconds_bucket{name="pods",le="1e-08"} 0
			workqueue_queue_duration_seconds_bucket{name="pods",le="1e-07"} 0
			workqueue_queue_duration_seconds_bucket{name="pods",le="1e-06"} 0
			workqueue_queue_duration_seconds_bucket{name="pods",le="1e-05"} 0
			workqueue_queue_duration_seconds_bucket{name="pods",le="0.0001"} 0
			workqueue_queue_duration_seconds_bucket{name="pods",le="0.001"} 0
			workqueue_queue_duration_seconds_bucket{name="pods",le="0.01"} 0
			workqueue_queue_duration_seconds_bucket{name="pods",le="0.1"} 0
			workqueue_queue_duration_seconds_bucket{name="pods",le="1"} 0
			workqueue_queue_duration_seconds_bucket{name="pods",le="10"} 2
			workqueue_queue_duration_seconds_bucket{name="pods",le="100"} 2
			workqueue_queue_duration_seconds_bucket{name="pods",le="1000"} 2
			workqueue_queue_duration_seconds_bucket{name="pods",le="+Inf"} 2
			workqueue_queue_duration_seconds_sum{name="pods"} 4
			workqueue_queue_duration_seconds_count{name="pods"} 2
			listwatch_workqueue_keys{name="pods",state="Delayed"} 2
			listwatch_workqueue_keys{name="pods",state="Parked"} 0
			listwatch_workqueue_keys{name="pods",state="Ready"} 1
			listwatch_workqueue_keys{name="pods",state="Working"} 1
			listwatch_workqueue_oldest_ready_seconds{name="pods"} 7
		`, "workqueue_depth", "workqueue_adds_total", "workqueue_retries_total", "workqueue_unfinished_work_seconds",
			"workqueue_longest_running_processor_seconds", "workqueue_queue_duration_seconds", "listwatch_workqueue_keys",
			"listwatch_workqueue_oldest_ready_seconds")
	})
}

// TestLint has Prometheus' own linter look at all names, and counts that all are there.
func TestLint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := running(t)
		problems, err := testutil.CollectAndLint(c)
		require.NoError(t, err)
		require.Empty(t, problems)
		described := make(chan *prometheus.Desc, 100)
		c.Describe(described)
		families := map[string]bool{}
		registry := prometheus.NewPedanticRegistry()
		require.NoError(t, registry.Register(c))
		gathered, err := registry.Gather()
		require.NoError(t, err)
		for _, f := range gathered {
			families[f.GetName()] = true
		}
		require.Len(t, families, len(described))
	})
}

// An informer that has heard nothing yet has no age.
func TestAgeBeforeTheFirstAnswer(t *testing.T) {
	t.Parallel()
	i := informer.New(listwatch.Funcs[*object]{}, informer.Options{Name: "idle"})
	c := collector.New(collector.Options{Informers: []informer.Inspected{i}})
	require.Zero(t, testutil.CollectAndCount(c, "listwatch_informer_age_seconds"))
	require.Equal(t, 1, testutil.CollectAndCount(c, "listwatch_informer_synced"))
}

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/e2e/churn"
	"github.com/seed3bce33ad/listwatch/examples/e2e/pair"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// childEnv is the variable that makes this program do one job instead of its tests.
const childEnv = "LISTWATCH_E2E_JOB"

// job is one informer of config maps that is to sync.
type job struct {
	Ours   bool
	Form   pair.Form
	Page   int64
	Access pair.Access
}

func (j job) name() string {
	side, form := "client-go", []string{"typed", "untyped", "metadata"}[j.Form]
	if j.Ours {
		side = "listwatch"
	}
	if j.Page > 0 {
		form += fmt.Sprintf(", pages of %d", j.Page)
	}
	return side + ", " + form
}

// result is what a job has shown.
type result struct {
	Objects     int
	Digest      string
	Synced, CPU time.Duration
	Heap        uint64 // bytes retained by the informer
	Peak        uint64 // bytes of the process's largest size; 0: not known
}

// running is an informer of either side.
type running struct {
	run    func(context.Context)
	synced func(context.Context) error
	bodies func() (map[listwatch.Key]pair.Body, error)
}

// child does the job, and writes the result to standard output.
func child(spec string) error {
	var j job
	if err := json.Unmarshal([]byte(spec), &j); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	i, err := j.informer()
	if err != nil {
		return err
	}
	before, began := heap(), time.Now()
	var run sync.WaitGroup
	run.Go(func() { i.run(ctx) })
	if err := i.synced(ctx); err != nil {
		return err
	}
	got := result{Synced: time.Since(began)}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	got.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	got.Peak = peak()
	got.Heap = heap() - before
	all, err := i.bodies()
	if err != nil {
		return err
	}
	got.Objects, got.Digest = len(all), digest(panics{}, all)
	cancel()
	run.Wait()
	return json.NewEncoder(os.Stdout).Encode(got)
}

func (j job) informer() (running, error) {
	s := &pair.Spec{Name: j.name(), Kind: churn.ConfigMaps, Page: j.Page, Metadata: j.Form == pair.Metadata}
	switch {
	case !j.Ours:
		return theirs(s, j)
	case j.Form == pair.Typed:
		return ours[*corev1.ConfigMap](s, j)
	case j.Form == pair.Untyped:
		return ours[rest.Object](s, j)
	default:
		return ours[*metav1.PartialObjectMetadata](s, j)
	}
}

func ours[T listwatch.Object](s *pair.Spec, j job) (running, error) {
	source, err := pair.NewSource[T](s, j.Access, pair.Tuning{})
	if err != nil {
		return running{}, err
	}
	o := informer.Options{Name: s.Name, Logger: slog.New(slog.DiscardHandler)}
	if s.Page > 0 {
		o.Reflector = reflector.Options{FirstList: reflector.FirstPages, PageSize: s.Page}
	}
	i := informer.New(source, o)
	return running{
		run:    func(ctx context.Context) { _ = i.Run(ctx) },
		synced: i.WaitForSync,
		bodies: func() (map[listwatch.Key]pair.Body, error) { return pair.BodiesOf(i.Indexer().All()) },
	}, nil
}

func theirs(s *pair.Spec, j job) (running, error) {
	i, err := pair.NewInformer(s, j.Access, j.Form)
	return running{
		run: func(ctx context.Context) { i.RunWithContext(ctx) },
		synced: func(ctx context.Context) error {
			select {
			case <-i.HasSyncedChecker().Done():
				return nil
			case <-ctx.Done():
				return errors.New("not synced in time")
			}
		},
		bodies: func() (map[listwatch.Key]pair.Body, error) { return pair.BodiesOf(pair.Stored(i)) },
	}, err
}

// heap returns how much memory is held at the moment.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// peak returns the largest size that the process has had, where the system tells: what getrusage
// says is the parent's, if that was larger.
func peak() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes := uint64(0)
	if _, err := fmt.Sscan(after, &kilobytes); err != nil {
		return 0
	}
	return kilobytes * 1024
}

// panics fails by panicking, where there is no test.
type panics struct{}

// Errorf panics.
func (panics) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// FailNow panics.
func (panics) FailNow() { panic("failed") }

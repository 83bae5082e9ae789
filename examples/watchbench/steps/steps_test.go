package steps_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/steps"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorded returns a CPU profile of stacks, each of which took ten milliseconds. The innermost function
// comes first.
func recorded(t *testing.T, stacks ...[]string) *bytes.Buffer {
	t.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	functions := make(map[string]*profile.Location)
	for _, stack := range stacks {
		s := &profile.Sample{Value: []int64{1, 1e7}}
		for _, name := range stack {
			if functions[name] == nil {
				f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
				p.Function = append(p.Function, f)
				functions[name] = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
				p.Location = append(p.Location, functions[name])
			}
			s.Location = append(s.Location, functions[name])
		}
		p.Sample = append(p.Sample, s)
	}
	var out bytes.Buffer
	require.NoError(t, p.Write(&out))
	return &out
}

func TestRead(t *testing.T) {
	const (
		decode = "github.com/seed3bce33ad/listwatch/internal/json.(*decoder).object"
		source = "github.com/seed3bce33ad/listwatch/reflector/rest.(*Source[...]).Watch"
	)
	all, err := steps.Read(recorded(t,
		[]string{decode, source},
		[]string{"runtime.memmove", "runtime.growslice", decode, source},
		[]string{"type:.eq.github.com/seed3bce33ad/listwatch/indexer.key", decode},
		[]string{"bytes.IndexByte", source},
		[]string{"internal/runtime/syscall.Syscall6", "syscall.read", "net.(*conn).Read", source},
		[]string{"runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker"},
		[]string{"runtime.gcDrainN", "runtime.gcAssistAlloc", "runtime.mallocgc", decode},
		[]string{"runtime.futex", "runtime.schedule", "runtime.mcall"},
		[]string{"bufio.(*Reader).fill", "net/http.(*persistConn).readLoop"},
		[]string{"sigs.k8s.io/json/internal/golang/encoding/json.(*decodeState).scanWhile"},
		[]string{"k8s.io/utils/set.Set[go.shape.struct { k8s.io/other.x }].Has"},
		[]string{"main.main"},
		nil,
	))
	require.NoError(t, err)
	const each = 10 * time.Millisecond
	require.Equal(t, []steps.Step{
		{"internal/json", 3 * each},
		{steps.Collection, 2 * each}, {steps.Scheduling, 2 * each},
		{"k8s.io/utils/set", each}, {"main", each}, {"net/http", each}, {"reflector/rest", each},
		{"sigs.k8s.io/json/internal/golang/encoding/json", each}, {steps.SystemCalls, each},
	}, all)
}

func TestNoProfile(t *testing.T) {
	_, err := steps.Read(bytes.NewReader([]byte("x")))
	require.Error(t, err)
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "space", Unit: "bytes"}}}
	var out bytes.Buffer
	require.NoError(t, p.Write(&out))
	_, err = steps.Read(&out)
	require.ErrorContains(t, err, "no CPU profile")
}

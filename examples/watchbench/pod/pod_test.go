package pod_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/pod"
	fast "github.com/seed3bce33ad/listwatch/internal/json"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A pod is a function of its number, and no two have the same name.
func TestPodsAreDeterministic(t *testing.T) {
	seen := make(map[string]bool)
	for n := range 2000 {
		p := pod.Make(1, n)
		key := p.Namespace + "/" + p.Name
		require.False(t, seen[key], key)
		seen[key] = true
	}
	require.Empty(t, cmp.Diff(pod.Make(1, 1234), pod.Make(1, 1234)))
	require.NotEqual(t, pod.Make(1, 1234).UID, pod.Make(2, 1234).UID)
}

// Their sizes are those of the pods that the targets were set with.
func TestPodSize(t *testing.T) {
	const pods = 1000
	var asJSON, asProtobuf int
	for n := range pods {
		p := pod.Make(1, n)
		text, err := json.Marshal(p)
		require.NoError(t, err)
		asJSON += len(text)
		asProtobuf += p.Size()
	}
	require.InDelta(t, 4160, asJSON/pods, 60)
	require.InDelta(t, 2390, asProtobuf/pods, 60)
}

// What is known of the times of Kubernetes objects holds for the version that is linked: they come out
// as by their own method, and without its allocations.
func TestTimesOfPods(t *testing.T) {
	for n := range 100 {
		text, err := json.Marshal(pod.Make(1, n))
		require.NoError(t, err)
		want, got := new(corev1.Pod), new(corev1.Pod)
		require.NoError(t, json.Unmarshal(text, want))
		require.NoError(t, fast.Unmarshal(text, got))
		require.Equal(t, want, got)
	}
	for _, text := range []string{`"2026-03-01T08:00:00Z"`, `"2026-03-01T08:00:00+02:00"`, `"2026-03-01T08:00:00.123456789Z"`, `null`, `"2026-02-30T08:00:00Z"`, `""`, `7`} {
		want, got := metav1.NewTime(time.Unix(5, 0)), metav1.NewTime(time.Unix(5, 0))
		wrong, err := json.Unmarshal([]byte(text), &want), fast.Unmarshal([]byte(text), &got)
		require.Equal(t, wrong == nil, err == nil, text)
		require.Equal(t, want, got, text)
	}
	text, second := []byte(`"2026-03-01T08:00:00Z"`), byte(0)
	require.LessOrEqual(t, testing.AllocsPerRun(50, func() {
		second++
		text[18], text[19] = '0'+second/10, '0'+second%10
		require.NoError(t, fast.Unmarshal(text, &into))
	}), 2.0)
	require.EqualValues(t, second, into.Second())
}

var into metav1.Time

package pod_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/pod"
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

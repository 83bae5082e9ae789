package e2e_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/conformance"
	"github.com/seed3bce33ad/listwatch/examples/e2e/cluster"
)

var recordFlag = flag.Bool("record", false, "write what the real API server answers into examples/apiserver/conformance/answers")

// The real API server answers the suite as it was recorded to. With -record it is recorded.
func TestConformance(t *testing.T) {
	c, err := cluster.Start(t.Context(), programs(t.Context(), t), t.ArtifactDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	config := c.Admin()
	config.DisableCompression = true // what is compressed is part of an answer
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	answersAsRecorded(t, conformance.Target{URL: config.Host, Client: client})
}

func answersAsRecorded(t *testing.T, target conformance.Target) {
	require.NoError(t, conformance.Define(t.Context(), target))
	groups, err := conformance.Groups()
	require.NoError(t, err)
	for _, g := range groups {
		var recorded map[string][]conformance.Answer
		if !*recordFlag {
			recorded, err = conformance.Recorded(g.Name)
			require.NoError(t, err)
		}
		var all []conformance.Answer
		for _, c := range g.Cases {
			t.Run(g.Name+"/"+c.Name, func(t *testing.T) {
				got, err := c.Run(t.Context(), target)
				require.NoError(t, err)
				all = append(all, got...)
				if *recordFlag {
					return
				}
				require.Len(t, recorded[c.Name], len(got), "record the answers again")
				for i, a := range got {
					require.Empty(t, conformance.Compare(recorded[c.Name][i], a))
				}
			})
		}
		if *recordFlag && !t.Failed() {
			require.NoError(t, conformance.Record("../apiserver/conformance/answers", g.Name, all))
		}
	}
}

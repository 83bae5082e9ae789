package parts_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/cluster/parts"
	"github.com/seed3bce33ad/listwatch/examples/runtime/runtimetest"
)

func TestMain(m *testing.M) { runtimetest.Main(m) }

func TestPrepare(t *testing.T) {
	for _, bad := range []parts.Settings{{}, {Dir: t.TempDir(), Nodes: -1}, {Dir: t.TempDir(), Nodes: 201}, {Dir: t.TempDir(), Hollow: -1}} {
		_, err := parts.Prepare(bad)
		require.Error(t, err)
	}
	dir := t.TempDir()
	s, err := parts.Prepare(parts.Settings{Dir: dir, Nodes: 2, Hollow: 3, Plain: true})
	require.NoError(t, err)
	require.Equal(t, []string{"apiserver", "controllermanager", "scheduler", "proxy", "node1", "node2", "hollow"}, s.Names())
	require.Equal(t, "127.96.0.0/16", s.ServiceIPs.String())
	require.NotEmpty(t, s.Missing, "it was asked to go without")
	for name, file := range map[string]string{"admin": "admin", "node2": "kubelet-node2", "controllermanager": "controller-manager",
		"scheduler": "scheduler", "hollow": "admin", "node3": "node3"} {
		require.Equal(t, filepath.Join(dir, "pki", file+".kubeconfig"), s.Kubeconfig(name))
	}
	require.ErrorContains(t, parts.Run(t.Context(), s, "node3", parts.Observer{Logger: slog.New(slog.DiscardHandler)}), "node3.kubeconfig")
	require.NoError(t, parts.Clean(s), "there is nothing")
}

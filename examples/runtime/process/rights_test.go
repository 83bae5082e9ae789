//go:build linux

package process_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
)

// withoutRights is set in the environment of a process that gives up rights of root, and names them; rightsGone when
// it has.
const (
	withoutRights = "TEST_WITHOUT_RIGHTS"
	rightsGone    = "TEST_RIGHTS_GONE"
)

// capabilities are the rights that are given up: to make namespaces and all else but links; and to make links.
var capabilities = map[string]uintptr{"admin": unix.CAP_SYS_ADMIN, "net": unix.CAP_NET_ADMIN}

// dropRights starts this program anew as a root that may do less, if it is to.
func dropRights() {
	names := os.Getenv(withoutRights)
	if names == "" || os.Getenv(rightsGone) != "" {
		return
	}
	for name := range strings.SplitSeq(names, ",") {
		must(unix.Prctl(unix.PR_CAPBSET_DROP, capabilities[name], 0, 0, 0))
	}
	must(os.Setenv(rightsGone, "1"))
	must(unix.Exec("/proc/self/exe", os.Args, os.Environ()))
}

// TestMissing runs tests as a root with less rights than others have, and looks at what is told then.
func TestMissing(t *testing.T) {
	if os.Geteuid() == 0 && os.Getenv(rightsGone) == "" {
		for _, rights := range []string{"net", "admin,net"} {
			cmd := exec.Command("/proc/self/exe", "-test.run=^(TestMissing|TestConformance|TestKilled|TestMounts|TestPodsHaveNetworks)$/^(Full)?$", "-test.v")
			cmd.Env = append(os.Environ(), withoutRights+"="+rights)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			for _, name := range []string{"TestMissing", "TestConformance/Full/Life", "TestKilled/Full"} {
				require.Contains(t, string(out), "--- PASS: "+name)
			}
		}
		return
	}
	r := open(t, process.Options{Dir: t.TempDir()})
	missing := strings.Join(r.Missing(), "\n")
	if os.Getenv(withoutRights) == "net" {
		require.NotContains(t, missing, "PID namespace")
		require.Regexp(t, `bridge \(.*operation not permitted\)|network namespace`, missing)
	} else {
		for _, what := range []string{"network", "IPC", "UTS", "PID", "mount"} {
			require.Contains(t, missing, what+" namespace (operation not permitted)")
		}
	}
	require.False(t, r.Networked())
	require.Equal(t, "127.244.0.0/24", r.CIDR().String())
	id, err := r.RunPodSandbox(t.Context(), runtime.SandboxConfig{Namespace: "default", Name: "web", UID: "u"})
	require.NoError(t, err)
	all, err := r.ListPodSandboxes(t.Context())
	require.NoError(t, err)
	require.Equal(t, id, all[0].ID)
	require.Equal(t, r.Missing(), all[0].Missing)
}

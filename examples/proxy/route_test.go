package proxy_test

import (
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/seed3bce33ad/listwatch/examples/proxy"
)

// inNamespace tells a child of this test binary that it is in a network of its own.
const inNamespace = "PROXY_TEST_IN_NAMESPACE"

// raiseLoopback makes the loopback interface of a new network work.
func raiseLoopback() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

// The addresses of services are nobody's until the proxy makes them local. This changes routes, so it is done in a
// network of its own.
func TestServiceIPsAreMadeLocal(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServiceIPsAreMadeLocal$", "-test.v")
		c.Env = append(os.Environ(), inNamespace+"=1")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
		if os.Getuid() != 0 {
			c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		}
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	r := newRig(t, proxy.Options{ServiceIPs: netip.MustParsePrefix("10.96.0.0/16")})
	for _, name := range []string{"a", "b"} {
		s := r.service(name, nil)
		require.Regexp(t, `^10\.96\.`, s.Spec.ClusterIP)
		r.endpoints(s, echo(t, name))
		r.lines.until(t, `msg=listening service=default/%s address=%s/TCP`, name, at(s))
		_, got := dial(t, at(s))
		require.Equal(t, name, got)
	}
	require.Len(t, localRoutes(t), 1)
	r.stop()
	require.Empty(t, localRoutes(t), "the route goes with the proxy")
}

// localRoutes are those to the addresses of services.
func localRoutes(t *testing.T) (found []netlink.Route) {
	t.Helper()
	all, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Table: 255}, netlink.RT_FILTER_TABLE)
	require.NoError(t, err)
	for _, r := range all {
		if r.Dst != nil && r.Dst.String() == "10.96.0.0/16" {
			found = append(found, r)
		}
	}
	return found
}

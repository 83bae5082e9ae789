package apiserver_test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

const services = "/api/v1/namespaces/default/services"

func service(name, spec string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"ports":[{"port":80}]%s}}`, name, spec)
}

// ipOf is the address in a service that came back.
func ipOf(o object) string { ip, _ := o.Spec.(map[string]any)["clusterIP"].(string); return ip }

func nodePortOf(o object) float64 {
	port, _ := o.Spec.(map[string]any)["ports"].([]any)[0].(map[string]any)["nodePort"].(float64)
	return port
}

func TestServicesGetAddresses(t *testing.T) {
	dir, all := t.TempDir(), netip.MustParsePrefix("127.96.0.0/29")
	a := newAPI(t, apiserver.Options{Dir: dir, ServiceIPs: all})
	first := a.must("POST", services, service("a", ""))
	require.True(t, all.Contains(netip.MustParseAddr(ipOf(first))), ipOf(first))
	spec := first.Spec.(map[string]any)
	require.Equal(t, []any{ipOf(first)}, spec["clusterIPs"])
	require.Equal(t, []any{"IPv4"}, spec["ipFamilies"])
	require.Equal(t, "SingleStack", spec["ipFamilyPolicy"])
	require.Equal(t, ipOf(first), ipOf(a.must("PUT", services+"/a", service("a", `,"selector":{"a":"b"}`))), "an update may leave it out")

	refused := func(body, want string, code int) {
		t.Helper()
		got := a.do("POST", services, body)
		require.Equal(t, code, got.code, got.body)
		require.Equal(t, want, got.object(t).Message)
	}
	refused(service("b", `,"clusterIP":"`+ipOf(first)+`"`), fmt.Sprintf(
		`Service "b" is invalid: spec.clusterIPs: Invalid value: ["%s"]: failed to allocate IP %[1]s: provided IP is already allocated`, ipOf(first)), 422)
	refused(service("b", `,"clusterIP":"10.1.2.3"`), `Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.1.2.3"]: failed to allocate IP 10.1.2.3: `+
		`the provided IP (10.1.2.3) is not in the valid range. The range of valid IPs is 127.96.0.0/29`, 422)
	refused(service("b", `,"clusterIP":"x"`), `Service "b" is invalid: spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`, 422)
	refused(service("b", `,"ipFamilies":["IPv6"]`), `Service "b" is invalid: spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster`, 422)
	require.Equal(t, "None", ipOf(a.must("POST", services, service("headless", `,"clusterIP":"None"`))))
	require.Empty(t, ipOf(a.must("POST", services, `{"metadata":{"name":"far"},"spec":{"type":"ExternalName","externalName":"example.com"}}`)))

	// A dry run and a refused create take nothing away: five more are there.
	require.Equal(t, 201, a.do("POST", services+"?dryRun=All", service("dry", "")).code)
	require.Equal(t, 422, a.do("POST", services, service("UPPER", "")).code)
	for i := range 5 {
		a.must("POST", services, service(fmt.Sprintf("s-%d", i), ""))
	}
	full := a.do("POST", services, service("last", ""))
	require.Equal(t, 500, full.code)
	require.Contains(t, full.body, "failed to allocate a serviceIP: range is full")
	require.Equal(t, "127.96.0.0", ipOf(a.must("POST", services, service("edge", `,"clusterIP":"127.96.0.0"`))), "to who asks for it")

	require.NoError(t, a.server.Close())
	again := newAPI(t, apiserver.Options{Dir: dir, ServiceIPs: all})
	require.Equal(t, 500, again.do("POST", services, service("last", "")).code, "who has what is known to the next server")
	again.must("DELETE", services+"/a", "")
	require.Equal(t, ipOf(first), ipOf(again.must("POST", services, service("last", ""))))
}

func TestServicesChangeTheirType(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	made := a.must("POST", services, service("a", `,"type":"NodePort"`))
	port := nodePortOf(made)
	require.True(t, port >= 30000 && port <= 32767, port)
	require.Equal(t, port, nodePortOf(a.must("PUT", services+"/a", service("a", `,"type":"NodePort","selector":{"a":"b"}`))))
	same := fmt.Sprintf(`{"metadata":{"name":"b"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":%.0f}]}}`, port)
	got := a.do("POST", services, same)
	require.Equal(t, 422, got.code)
	require.Equal(t, fmt.Sprintf(`Service "b" is invalid: spec.ports[0].nodePort: Invalid value: %.0f: provided port is already allocated`, port), got.object(t).Message)
	require.Contains(t, a.do("POST", services, strings.Replace(same, fmt.Sprintf("%.0f", port), "80", 1)).object(t).Message,
		"spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767")
	require.Contains(t, a.do("POST", services, strings.Replace(same, "NodePort", "ClusterIP", 1)).object(t).Message,
		"spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'")

	plain := a.must("PUT", services+"/a", service("a", ""))
	require.Zero(t, nodePortOf(plain), "given back")
	require.Equal(t, ipOf(made), ipOf(plain))
	a.must("POST", services, same)
	away := a.must("PUT", services+"/a", `{"metadata":{"name":"a"},"spec":{"type":"ExternalName","externalName":"example.com"}}`)
	require.Empty(t, ipOf(away))
	a.must("POST", services, service("c", `,"clusterIP":"`+ipOf(made)+`"`))
	require.NotEqual(t, ipOf(made), ipOf(a.must("PUT", services+"/a", service("a", ""))), "another has it now")
	moved := a.do("PATCH", services+"/c", `{"spec":{"clusterIP":"10.96.0.1"}}`, "Content-Type", "application/merge-patch+json")
	require.Equal(t, 422, moved.code)
	require.Equal(t, `Service "c" is invalid: spec.clusterIPs[0]: Invalid value: ["10.96.0.1"]: may not change once set`, moved.object(t).Message)
}

// Many at once, in a range that has just enough, while others give theirs back.
func TestNoTwoServicesHaveOneAddress(t *testing.T) {
	a := newAPI(t, apiserver.Options{ServiceIPs: netip.MustParsePrefix("127.96.0.0/26")})
	const writers, each = 6, 10
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := range each {
				name := fmt.Sprintf("s-%d-%d", w, i)
				for _, step := range []struct{ method, path, body string }{
					{"POST", services, service(name, `,"type":"NodePort"`)},
					{"DELETE", services + "/" + name, ""},
					{"POST", services, service(name, `,"type":"NodePort"`)},
				} {
					response, err := a.send(t.Context(), step.method, step.path, step.body)
					if err != nil || response.StatusCode > 201 {
						t.Error(step, response, err)
						return
					}
					_ = response.Body.Close()
				}
			}
		})
	}
	running.Wait()
	ips, ports := map[string]bool{}, map[float64]bool{}
	for _, s := range a.must("GET", services, "").Items {
		ips[ipOf(s)], ports[nodePortOf(s)] = true, true
	}
	require.Len(t, ips, writers*each)
	require.Len(t, ports, writers*each)
}

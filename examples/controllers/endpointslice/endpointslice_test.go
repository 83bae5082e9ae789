package endpointslice_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/endpointslice"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a world with a view of its slices.
type rig struct {
	*controltest.World
	slices *controltest.View[*discoveryv1.EndpointSlice]
	seen   int // addresses given away
}

func start(t *testing.T) *rig {
	w := controltest.New(t, endpointslice.New)
	return &rig{World: w, slices: controltest.Watch[*discoveryv1.EndpointSlice](w)}
}

// service makes one that selects app=NAME, at port 80 of the service and that port of the pods.
func (r *rig) service(name string, port intstr.IntOrString) *corev1.Service {
	return controltest.Create(r.World, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": "test"}},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: port}}}})
}

// pod makes one of an app with an address, which is ready or not.
func (r *rig) pod(name, app string, ready bool, ports ...corev1.ContainerPort) *corev1.Pod {
	controltest.Create(r.World, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i", Ports: ports}}}})
	r.seen++
	address := fmt.Sprintf("10.0.%d.%d", r.seen/250, r.seen%250+1)
	return r.state(name, ready, map[string]any{"phase": "Running", "podIP": address, "podIPs": []map[string]any{{"ip": address}}})
}

// state writes the status of a pod.
func (r *rig) state(name string, ready bool, status map[string]any) *corev1.Pod {
	s := "False"
	if ready {
		s = "True"
	}
	status["conditions"] = []map[string]any{{"type": "Ready", "status": s}}
	return controltest.Merge[*corev1.Pod](r.World, name, "status", map[string]any{"status": status})
}

// told is what slices say: a line for each endpoint, "pod address port ready/serving/terminating".
func told(all []*discoveryv1.EndpointSlice) []string {
	var lines []string
	for _, s := range all {
		for _, e := range s.Endpoints {
			var port int32
			for _, p := range s.Ports {
				port = *p.Port
			}
			lines = append(lines, fmt.Sprintf("%s %s %d %v/%v/%v", e.TargetRef.Name, e.Addresses[0], port, *e.Conditions.Ready, *e.Conditions.Serving, *e.Conditions.Terminating))
		}
	}
	slices.Sort(lines)
	return lines
}

// until waits until the slices say so.
func (r *rig) until(want ...string) []*discoveryv1.EndpointSlice {
	r.T.Helper()
	return r.slices.Until(func(all []*discoveryv1.EndpointSlice) bool { return slices.Equal(told(all), want) })
}

func TestFollowsPods(t *testing.T) {
	r := start(t)
	s := r.service("web", intstr.FromInt32(8080))
	r.pod("a", "web", true)
	r.pod("b", "web", false)
	r.pod("c", "db", true)
	all := r.until("a 10.0.0.2 8080 true/true/false", "b 10.0.0.3 8080 false/false/false")
	require.Len(t, all, 1)
	got := all[0]
	require.Equal(t, map[string]string{"of": "test", "kubernetes.io/service-name": "web",
		"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}, got.Labels)
	require.Equal(t, s.UID, metav1.GetControllerOf(got).UID)
	require.Equal(t, "http", *got.Ports[0].Name)
	require.Equal(t, corev1.ProtocolTCP, *got.Ports[0].Protocol)
	require.Equal(t, "n", *got.Endpoints[0].NodeName)
	require.Equal(t, "Pod", got.Endpoints[0].TargetRef.Kind)

	r.state("b", true, map[string]any{})
	r.until("a 10.0.0.2 8080 true/true/false", "b 10.0.0.3 8080 true/true/false")
	controltest.Merge[*corev1.Pod](r.World, "a", "", map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "db"}}})
	r.until("b 10.0.0.3 8080 true/true/false")
	controltest.Merge[*corev1.Pod](r.World, "c", "", map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}})
	r.until("b 10.0.0.3 8080 true/true/false", "c 10.0.0.4 8080 true/true/false")
	r.state("c", false, map[string]any{"phase": "Succeeded"})
	r.until("b 10.0.0.3 8080 true/true/false")
	controltest.Delete[*corev1.Pod](r.World, "b") // it has time to end
	r.until("b 10.0.0.3 8080 false/true/true")
	controltest.Merge[*corev1.Service](r.World, "web", "", map[string]any{"spec": map[string]any{"selector": map[string]any{"app": "db"}}})
	r.until("a 10.0.0.2 8080 true/true/false")
}

func TestNotReadyIsPublished(t *testing.T) {
	r := start(t)
	controltest.Create(r.World, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: corev1.ServiceSpec{ClusterIP: "None",
		Selector: map[string]string{"app": "db"}, PublishNotReadyAddresses: true}})
	controltest.Create(r.World, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "db"}},
		Spec: corev1.PodSpec{Hostname: "first", Subdomain: "db", Containers: []corev1.Container{{Name: "c", Image: "i"}}}})
	r.state("a", false, map[string]any{"podIP": "10.1.1.1", "podIPs": []map[string]any{{"ip": "10.1.1.1"}}})
	all := r.until("a 10.1.1.1 0 true/false/false")
	require.Equal(t, "first", *all[0].Endpoints[0].Hostname)
	require.Contains(t, all[0].Labels, corev1.IsHeadlessService)
}

func TestNamedPorts(t *testing.T) {
	r := start(t)
	r.service("web", intstr.FromString("http"))
	r.pod("a", "web", true, corev1.ContainerPort{Name: "http", ContainerPort: 8080})
	r.pod("b", "web", true, corev1.ContainerPort{Name: "http", ContainerPort: 9090})
	r.pod("c", "web", true, corev1.ContainerPort{Name: "http", ContainerPort: 9090})
	r.pod("d", "web", true, corev1.ContainerPort{Name: "http", ContainerPort: 53, Protocol: corev1.ProtocolUDP}, corev1.ContainerPort{Name: "other", ContainerPort: 1})
	all := r.until("a 10.0.0.2 8080 true/true/false", "b 10.0.0.3 9090 true/true/false", "c 10.0.0.4 9090 true/true/false", "d 10.0.0.5 0 true/true/false")
	require.Len(t, all, 3)
}

func TestServiceMadeAgain(t *testing.T) {
	r := start(t)
	old := r.service("web", intstr.FromInt32(1))
	r.pod("a", "web", true)
	r.until("a 10.0.0.2 1 true/true/false")
	controltest.Delete[*corev1.Service](r.World, "web")
	next := r.service("web", intstr.FromInt32(2))
	all := r.until("a 10.0.0.2 2 true/true/false")
	require.Len(t, all, 1)
	require.NotEqual(t, old.UID, next.UID)
	require.Equal(t, next.UID, metav1.GetControllerOf(all[0]).UID)
	controltest.Delete[*corev1.Service](r.World, "web")
	r.slices.Until(func(all []*discoveryv1.EndpointSlice) bool { return len(all) == 0 })
}

func TestWithoutSelector(t *testing.T) {
	r := start(t)
	s := controltest.Create(r.World, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "out"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	own := controltest.Create(r.World, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "mine", Labels: map[string]string{discoveryv1.LabelServiceName: s.Name}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.9.9.9"}}}})
	r.service("web", intstr.FromInt32(1))
	r.pod("a", "web", true)
	all := r.slices.Until(func(all []*discoveryv1.EndpointSlice) bool { return len(all) == 2 })
	require.True(t, slices.ContainsFunc(all, func(s *discoveryv1.EndpointSlice) bool { return s.ResourceVersion == own.ResourceVersion }))
	controltest.Merge[*corev1.Service](r.World, "web", "", map[string]any{"spec": map[string]any{"selector": nil}})
	all = r.slices.Until(func(all []*discoveryv1.EndpointSlice) bool { return len(all) == 1 })
	require.Equal(t, own.UID, all[0].UID)
}

func TestFewestWrites(t *testing.T) {
	const pods = 230
	r := start(t)
	for i := range pods {
		r.pod(fmt.Sprintf("p%03d", i), "web", true)
	}
	r.service("web", intstr.FromInt32(1))
	count := func(all []*discoveryv1.EndpointSlice) (n int) {
		for _, s := range all {
			n += len(s.Endpoints)
		}
		return n
	}
	before := r.slices.Until(func(all []*discoveryv1.EndpointSlice) bool { return count(all) == pods })
	require.Len(t, before, 3)
	r.state("p117", false, map[string]any{})
	after := r.slices.Until(func(all []*discoveryv1.EndpointSlice) bool {
		return slices.Contains(told(all), "p117 10.0.0.119 1 false/false/false")
	})
	versions := func(all []*discoveryv1.EndpointSlice) map[types.UID]string {
		m := map[types.UID]string{}
		for _, s := range all {
			m[s.UID] = s.ResourceVersion
		}
		return m
	}
	was, is, changed := versions(before), versions(after), 0
	for uid, version := range is {
		if was[uid] != version {
			changed++
		}
	}
	require.Equal(t, 1, changed)
}

func TestPortsChange(t *testing.T) {
	r := start(t)
	r.service("web", intstr.FromInt32(1))
	r.pod("a", "web", true)
	r.until("a 10.0.0.2 1 true/true/false")
	r.slices.Always(func(all []*discoveryv1.EndpointSlice) {
		if len(all) == 0 {
			t.Error("there are no endpoints")
		}
	})
	for port := range int32(20) { // in whatever order the ports are
		changed := []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(port + 2)}}
		controltest.Merge[*corev1.Service](r.World, "web", "", map[string]any{"spec": map[string]any{"ports": changed}})
		r.until(fmt.Sprintf("a 10.0.0.2 %d true/true/false", port+2))
	}
}

// A cache that is behind for longer than anybody waits makes no slice twice, and no change wait.
func TestInformerIsLate(t *testing.T) {
	r := start(t)
	r.service("web", intstr.FromInt32(1))
	r.pod("a", "web", true)
	r.until("a 10.0.0.2 1 true/true/false")
	r.LateSlices.Hold()
	r.service("db", intstr.FromInt32(2))
	r.pod("b", "db", true)
	r.until("a 10.0.0.2 1 true/true/false", "b 10.0.0.3 2 true/true/false")
	r.Clock.Add(6 * time.Minute)
	// That these are told of says that steps have been, and what they have seen.
	r.pod("c", "db", true)
	r.pod("d", "web", true)
	r.until("a 10.0.0.2 1 true/true/false", "b 10.0.0.3 2 true/true/false", "c 10.0.0.4 2 true/true/false", "d 10.0.0.5 1 true/true/false")
	r.Clock.Add(6 * time.Minute)
	r.slices.RequireMade(2)
	// A slice that its cache has never shown goes when nothing is left in it.
	controltest.Delete[*corev1.Pod](r.World, "b")
	controltest.Delete[*corev1.Pod](r.World, "c")
	r.state("b", false, map[string]any{"phase": "Failed"})
	r.state("c", false, map[string]any{"phase": "Failed"})
	r.until("a 10.0.0.2 1 true/true/false", "d 10.0.0.5 1 true/true/false")
	r.LateSlices.Release()
	r.pod("e", "db", true)
	r.until("a 10.0.0.2 1 true/true/false", "d 10.0.0.5 1 true/true/false", "e 10.0.0.6 2 true/true/false")
	r.slices.RequireMade(3)
}

func TestRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	r := start(t)
	r.Flow()
	apps := []string{"x", "y"}
	for _, app := range apps {
		r.service(app, intstr.FromInt32(1))
	}
	there := map[string]*corev1.Pod{}
	for i := range 150 {
		name := fmt.Sprint("p", random.IntN(30))
		p, found := there[name]
		switch {
		case !found:
			there[name] = r.pod(name, apps[random.IntN(2)], random.IntN(2) == 0)
		case random.IntN(3) == 0:
			require.NoError(t, kube.For[*corev1.Pod](r.Cluster).Delete(t.Context(), listwatch.KeyOf(p), metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
			delete(there, name)
		case random.IntN(2) == 0:
			there[name] = r.state(name, random.IntN(2) == 0, map[string]any{})
		default:
			there[name] = controltest.Merge[*corev1.Pod](r.World, name, "", map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": apps[random.IntN(2)]}}})
		}
		if i%50 == 25 {
			r.Server.CutConnections()
		}
	}
	want := []string{}
	for name, p := range there {
		ready := p.Status.Conditions[0].Status == corev1.ConditionTrue
		want = append(want, fmt.Sprintf("%s %s 1 %v/%v/false", name, p.Status.PodIP, ready, ready))
	}
	slices.Sort(want)
	r.slices.Until(func(all []*discoveryv1.EndpointSlice) bool {
		for _, s := range all {
			for _, e := range s.Endpoints {
				p := there[e.TargetRef.Name]
				if p == nil || s.Labels[discoveryv1.LabelServiceName] != p.Labels["app"] || e.TargetRef.UID != p.UID {
					return false
				}
			}
		}
		return slices.Equal(told(all), want)
	})
}

package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// sums is all that is known, in a form that can be compared.
func sums(ns *Nodes) map[string]any {
	all := map[string]any{}
	for name, n := range ns.byName {
		var pods []types.UID
		for uid, p := range n.pods {
			pods = append(pods, uid)
			all["pod "+string(uid)] = []any{p.node.name, p.asks, p.pod}
		}
		all["node "+name] = []any{n.object, n.room, plain(n.used), n.shown, n.ports, len(pods)}
	}
	all["order"] = len(ns.order)
	for uid := range ns.apart {
		all["apart "+string(uid)] = true
	}
	for owner, on := range ns.owners {
		all["owner "+string(owner)] = on
	}
	for namespace, pods := range ns.byNamespace {
		all["namespace "+namespace] = len(pods)
	}
	return all
}

func plain(a amounts) amounts {
	if len(a.other) == 0 {
		a.other = nil
	}
	return a
}

// Whatever came in between, what is known is what it is when all is told anew.
func TestRandomWalkEqualsRebuild(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	ns := New(Balanced)
	nodes, pods := map[string]*corev1.Node{}, map[types.UID]*corev1.Pod{}
	for step := range 5000 {
		name, uid := fmt.Sprint("n", rnd.IntN(6)), types.UID(fmt.Sprint("p", rnd.IntN(30)))
		switch rnd.IntN(10) {
		case 0:
			ns.RemoveNode(name)
			delete(nodes, name)
		case 1:
			nodes[name] = randomNode(rnd, name)
			ns.SetNode(nodes[name])
		case 2, 3:
			ns.RemovePod(uid)
			delete(pods, uid)
		case 4: // it was placed and could not be bound
			if _, known := pods[uid]; !known {
				_, _ = ns.Place(randomPod(rnd, uid))
				ns.Forget(uid)
			}
		case 5: // it was placed, and is bound there
			if _, known := pods[uid]; !known {
				p := randomPod(rnd, uid)
				if at, err := ns.Place(p); err == nil {
					pods[uid] = p.DeepCopy()
					pods[uid].Spec.NodeName = at
					ns.SetPod(pods[uid])
				}
			}
		default:
			p := randomPod(rnd, uid)
			p.Spec.NodeName = name
			if ns.SetPod(p); rnd.IntN(5) == 0 {
				p = p.DeepCopy()
				p.Status.Phase = corev1.PodFailed
				ns.SetPod(p)
				delete(pods, uid)
			} else {
				pods[uid] = p
			}
		}
		if step%20 == 0 {
			anew := New(Balanced)
			for _, p := range pods {
				anew.SetPod(p)
			}
			for _, n := range nodes {
				anew.SetNode(n)
			}
			require.Equal(t, sums(anew), sums(ns), "seed %d, step %d", seed, step)
		}
	}
}

func randomNode(rnd *rand.Rand, name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprint(rnd.IntN(3))), Labels: map[string]string{"zone": fmt.Sprint(rnd.IntN(2))}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewQuantity(rnd.Int64N(20), resource.DecimalSI), corev1.ResourcePods: *resource.NewQuantity(10, resource.DecimalSI),
		}},
	}
}

func randomPod(rnd *rand.Rand, uid types.UID) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprint("ns", rnd.IntN(2)), Name: string(uid), UID: uid, Labels: map[string]string{"app": fmt.Sprint(rnd.IntN(2))},
	}}
	p.Spec.Containers = []corev1.Container{{Name: "c"}}
	requests := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(rnd.Int64N(3), resource.DecimalSI)}
	if rnd.IntN(3) == 0 {
		requests["example.com/gpu"] = *resource.NewQuantity(rnd.Int64N(2), resource.DecimalSI)
	}
	p.Spec.Containers[0].Resources.Requests = requests
	if rnd.IntN(3) == 0 {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: rnd.Int32N(3)}}
	}
	if rnd.IntN(3) == 0 {
		p.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(fmt.Sprint("o", rnd.IntN(3))), Controller: ptr.To(true)}}
	}
	if rnd.IntN(4) == 0 {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "1"}},
			}},
		}}
	}
	return p
}

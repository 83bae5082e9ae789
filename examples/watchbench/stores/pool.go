package stores

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/sides"
)

// pool is what a run works on.
type pool struct {
	store store
	// pods are stored at the beginning, same are other states of them with the same values in the
	// indexes, moved are on another node.
	pods, same, moved []corev1.Pod
	// names are namespaces and names in memory of their own, as those are that come from a queue.
	names [][2]string
	// order is random, the same on both sides.
	order   []int
	workers int
	// version is the next one. Pass has versions for each pass over all pods of one operation.
	version int
	pass    [][]string
}

func newPool(side string, objects, workers int) (*pool, error) {
	p := &pool{
		pods: sides.Pods(objects), same: make([]corev1.Pod, objects), moved: make([]corev1.Pod, objects),
		order: rand.New(rand.NewPCG(1, 2)).Perm(objects), workers: workers, version: sides.FirstVersion,
	}
	keys := make([]string, objects)
	for i := range p.pods {
		pod := &p.pods[i]
		p.same[i], p.moved[i] = *pod, *pod
		p.moved[i].Spec.NodeName = p.pods[(i+onNode)%objects].Spec.NodeName
		keys[i] = pod.Namespace + "/" + pod.Name
		p.names = append(p.names, [2]string{keys[i][:len(pod.Namespace)], keys[i][len(pod.Namespace)+1:]})
	}
	var err error
	switch side {
	case sides.Listwatch:
		p.store, err = newOurs(p.names, workers)
	case sides.ClientGo:
		p.store = newTheirs(keys)
	default:
		err = fmt.Errorf("no store of %q", side)
	}
	if err != nil {
		return nil, err
	}
	for i := range p.pods {
		p.store.put(0, &p.pods[i], p.pods[i].ResourceVersion)
	}
	return p, nil
}

// place returns where in the order operation n of a worker is, and in which pass over it. As long
// as the workers divide the number of pods, each has pods of its own, whose versions grow.
func (p *pool) place(worker, n int) (at, pass int) {
	at = worker + n*p.workers
	return at % len(p.order), at / len(p.order)
}

// pod returns the number of the pod that operation n of a worker is about.
func (p *pool) pod(worker, n int) int {
	at, _ := p.place(worker, n)
	return p.order[at]
}

// update stores another state of a pod than the pass before: one of these, or the first one.
func (p *pool) update(worker, n int, states []corev1.Pod) bool {
	at, pass := p.place(worker, n)
	if pass%2 == 1 {
		states = p.pods
	}
	pod := p.order[at]
	p.store.put(worker, &states[pod], p.pass[pass][pod])
	return true
}

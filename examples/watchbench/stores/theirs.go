package stores

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// nodes is the name of the index by node.
const nodes = "node"

// indexes are those of both sides.
var indexes = []struct {
	name  string
	value func(*corev1.Pod) string
}{
	{nodes, func(p *corev1.Pod) string { return p.Spec.NodeName }},
	{"owner", func(p *corev1.Pod) string { return p.OwnerReferences[0].Name }},
	{"app", func(p *corev1.Pod) string { return p.Labels["app"] }},
}

// theirs writes as a shared informer does, by Update, which makes the key. A version is not looked
// at: client-go does not compare them.
type theirs struct {
	indexer cache.Indexer
	keys    []string
}

func newTheirs(keys []string) *theirs {
	all := cache.Indexers{}
	for _, index := range indexes {
		all[index.name] = func(object any) ([]string, error) { return []string{index.value(object.(*corev1.Pod))}, nil }
	}
	return &theirs{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, all), keys: keys}
}

func (t *theirs) put(_ int, pod *corev1.Pod, _ string) {
	if err := t.indexer.Update(pod); err != nil {
		panic(err) // a pod has a key
	}
}

func (t *theirs) get(n int) bool {
	_, ok, _ := t.indexer.GetByKey(t.keys[n])
	return ok
}

func (t *theirs) built(namespace, name string) bool {
	_, ok, _ := t.indexer.GetByKey(namespace + "/" + name)
	return ok
}

func (t *theirs) find(node string) int {
	pods, _ := t.indexer.ByIndex(nodes, node)
	return len(pods)
}

func (t *theirs) list() int { return len(t.indexer.List()) }

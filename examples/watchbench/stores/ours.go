package stores

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

// ours writes as the informer does, from a slice that is used again, but in batches of one; and it
// makes the head of each state anew, as client-go's side makes its key.
type ours struct {
	indexer *indexer.Indexer[*corev1.Pod]
	reader  *indexer.Reader[*corev1.Pod]
	nodes   *indexer.Index[*corev1.Pod, string]
	keys    []listwatch.Key
	writes  [][]indexer.Write[*corev1.Pod] // of each worker
}

func newOurs(names [][2]string, workers int) (*ours, error) {
	o := &ours{indexer: indexer.New[*corev1.Pod](indexer.Options{})}
	o.reader = o.indexer.Reader()
	for range workers {
		o.writes = append(o.writes, make([]indexer.Write[*corev1.Pod], 1))
	}
	for _, name := range names {
		o.keys = append(o.keys, listwatch.Key{Namespace: name[0], Name: name[1]})
	}
	for _, index := range indexes {
		ix, err := indexer.AddIndexFunc(o.reader, index.name, func(p *corev1.Pod, values []string) []string {
			return append(values, index.value(p))
		})
		if err != nil {
			return nil, err
		}
		if index.name == nodes {
			o.nodes = ix
		}
	}
	return o, nil
}

func (o *ours) put(worker int, pod *corev1.Pod, version string) {
	head := listwatch.Head{Key: listwatch.KeyOf(pod), UID: string(pod.GetUID()), ResourceVersion: version}
	writes := o.writes[worker]
	writes[0] = indexer.Write[*corev1.Pod]{Head: head, Object: pod}
	o.indexer.Apply(version, writes)
}

func (o *ours) get(n int) bool {
	_, ok := o.reader.Get(o.keys[n])
	return ok
}

func (o *ours) built(namespace, name string) bool {
	_, ok := o.reader.Get(listwatch.Key{Namespace: namespace, Name: name})
	return ok
}

func (o *ours) find(node string) int { return len(o.nodes.Get(node)) }

func (o *ours) list() int { return len(o.reader.List()) }

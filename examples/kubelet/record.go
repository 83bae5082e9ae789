package kubelet

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch/examples/kubelet/podstate"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// The annotations of sandboxes, so that another run of the kubelet knows them.
const (
	annotationGrace = "kubelet.listwatch/grace" // the pod's grace period
)

// record is what is known of a pod beside what API and runtime know. It is lost when the kubelet ends.
type record struct {
	uid types.UID
	// since is when the kubelet has heard of it.
	since time.Time
	// files is held by who writes the pod's volumes.
	files sync.Mutex

	mu       sync.Mutex
	pod      *corev1.Pod                // what was wanted last; guarded by mu, as are those below
	failed   *podstate.Held             // why it must not run
	admitted bool                       // it has a place on the node
	static   bool                       // a file says it
	status   corev1.PodStatus           // as it was worked out last
	busy     map[string]bool            // containers being started, by name
	held     map[string]podstate.Held   // why containers could not be started, by name
	failures map[string]int             // how often in a row, by name
	probed   map[string]podstate.Probed // by container id
	probing  map[string]func()          // ends the probes of a container, by id
	stopping map[string]time.Time       // when containers are killed that were asked to end, by id
	endBy    time.Time                  // when the grace of its deletion is over
	deleted  string                     // the version whose deletion was asked for
}

// recordOf returns the record of a pod, a new one if there is none.
func (k *Kubelet) recordOf(uid types.UID) *record {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.records[uid]
	if r == nil {
		r = &record{
			uid: uid, since: k.o.Clock.Now(), busy: map[string]bool{}, held: map[string]podstate.Held{}, failures: map[string]int{},
			probed: map[string]podstate.Probed{}, probing: map[string]func(){}, stopping: map[string]time.Time{},
		}
		k.records[uid] = r
	}
	return r
}

// known returns the record of a pod, or nil.
func (k *Kubelet) known(uid types.UID) *record {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.records[uid]
}

// forget drops the record of a pod of which nothing is left.
func (k *Kubelet) forget(r *record) {
	k.mu.Lock()
	delete(k.records, r.uid)
	k.mu.Unlock()
	if r.isStatic() {
		r.mu.Lock()
		p := r.pod
		r.mu.Unlock()
		k.release(p)
	}
}

func (r *record) isStatic() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.static
}

// seen is what there is of a pod.
type seen struct {
	// busy are the containers that were being started before the others were looked at: what is seen of them may be old.
	busy       map[string]bool
	boxes      []runtime.Sandbox
	containers []runtime.Container
}

// observe asks the runtime what there is of a pod.
func (k *Kubelet) observe(ctx context.Context, uid types.UID) (s seen, err error) {
	if r := k.known(uid); r != nil {
		r.mu.Lock()
		s.busy = maps.Clone(r.busy)
		r.mu.Unlock()
	}
	all, err := k.o.Runtime.ListPodSandboxes(ctx)
	if err != nil {
		return s, err
	}
	of := map[string]bool{}
	for _, b := range all {
		if b.Config.UID == string(uid) {
			s.boxes = append(s.boxes, b)
			of[b.ID] = true
		}
	}
	if len(s.boxes) == 0 {
		return s, nil
	}
	every, err := k.o.Runtime.ListContainers(ctx)
	if err != nil {
		return s, err
	}
	for _, c := range every {
		if of[c.Sandbox] {
			s.containers = append(s.containers, c)
		}
	}
	return s, nil
}

// view is what is known of a pod now.
func (k *Kubelet) view(r *record, p *corev1.Pod, s seen) *podstate.View {
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := maps.Clone(r.busy)
	maps.Copy(busy, s.busy)
	return &podstate.View{
		Pod: p, Now: k.o.Clock.Now(), HostIP: k.host(), Runtime: k.o.RuntimeName, Sandboxes: s.boxes, Containers: s.containers,
		Probed: maps.Clone(r.probed), Busy: busy, Held: maps.Clone(r.held), Failed: r.failed,
		Deleted: p.DeletionTimestamp != nil,
	}
}

// podDir is where the volumes of a pod are, and logDir where its logs are.
func (k *Kubelet) podDir(uid types.UID) string { return filepath.Join(k.o.Dir, "pods", string(uid)) }

func (k *Kubelet) logDir(p *corev1.Pod) string {
	return filepath.Join(k.o.Dir, "logs", p.Namespace+"_"+p.Name+"_"+string(p.UID))
}

// dirs are the pods that have a directory.
func (k *Kubelet) dirs() []types.UID {
	if k.o.Dir == "" {
		return nil
	}
	entries, err := os.ReadDir(filepath.Join(k.o.Dir, "pods"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		k.o.Logger.Warn("pods' directories", "node", k.o.Node, "error", err)
	}
	var all []types.UID
	for _, e := range entries {
		all = append(all, types.UID(e.Name()))
	}
	return all
}

// clean removes the volumes of a pod, and with logs its logs too.
func (k *Kubelet) clean(uid types.UID, logs bool) error {
	if k.o.Dir == "" {
		return nil
	}
	err := os.RemoveAll(k.podDir(uid))
	if !logs {
		return err
	}
	found, globErr := filepath.Glob(filepath.Join(k.o.Dir, "logs", "*_"+string(uid)))
	err = errors.Join(err, globErr)
	for _, dir := range found {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

package kubelet

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch/examples/kubelet/podstate"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// admit decides whether the node can hold a pod that it has not run yet, once and for all, and reports whether that is
// decided: not before the pods are known that are here already.
func (k *Kubelet) admit(ctx context.Context, r *record, p *corev1.Pod, boxes []runtime.Sandbox) (bool, error) {
	r.mu.Lock()
	decided := r.admitted || r.failed != nil
	r.admitted = r.admitted || len(boxes) > 0 // by an earlier run
	decided = decided || r.admitted
	static := r.static
	r.mu.Unlock()
	switch {
	case decided, podstate.Terminal(p.Status.Phase), p.DeletionTimestamp != nil:
		return true, nil
	case !static && !k.source.pods.Synced().Fired():
		return false, nil
	}
	k.admission.Lock()
	defer k.admission.Unlock()
	others, err := k.others(ctx, p, static)
	if err != nil {
		return false, err
	}
	held := podstate.Refuse(p, others, k.capacity())
	r.mu.Lock()
	r.failed, r.admitted = held, held == nil
	r.mu.Unlock()
	if held != nil {
		k.tell(p, corev1.EventTypeWarning, held.Reason, held.Message)
		k.o.Logger.Info("refused pod", "pod", keyOf(p).String(), "node", k.o.Node, "reason", held.Reason, "message", held.Message)
	}
	return true, nil
}

// others are the pods that have a place on the node beside one: those that were admitted, and those of files, which come
// before those of the API. What has ended takes nothing.
func (k *Kubelet) others(ctx context.Context, p *corev1.Pod, static bool) ([]*corev1.Pod, error) {
	boxes, err := k.o.Runtime.ListPodSandboxes(ctx)
	if err != nil {
		return nil, err
	}
	here := map[types.UID]bool{}
	for _, b := range boxes {
		here[types.UID(b.Config.UID)] = true
	}
	if !static {
		for _, s := range k.statics() {
			here[s.UID] = true
		}
	}
	var all []*corev1.Pod
	for _, o := range append(k.source.own.List(), k.statics()...) {
		if o.UID == p.UID || isMirror(o) {
			continue
		}
		phase, admitted := o.Status.Phase, here[o.UID]
		if r := k.known(o.UID); r != nil {
			r.mu.Lock()
			refused := r.failed != nil && !r.admitted
			admitted = (admitted || r.admitted) && !refused
			if r.status.Phase != "" {
				phase = r.status.Phase
			}
			r.mu.Unlock()
		}
		if admitted && !podstate.Terminal(phase) {
			all = append(all, o)
		}
	}
	return all, nil
}

package kubelet

import (
	"context"
	"hash/fnv"
	"maps"
	goruntime "runtime"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/internal/timing"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// version is what the node says of the kubelet: the API that it is written for.
const version = "v1.36.3-listwatch"

// nodeStep sees that the node is there, and that its status is as it should be.
func (k *Kubelet) nodeStep(ctx context.Context) (workqueue.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now := k.o.Clock.Now()
	again := workqueue.Result{After: k.o.StatusPeriod}
	n := k.source.node()
	if n == nil {
		made, err := k.nodes.Create(ctx, k.node(now))
		if err != nil {
			return again, kube.UnlessBehind(err)
		}
		k.o.Logger.Info("registered", "node", k.o.Node)
		k.wroteNode(made, now)
		return workqueue.Result{Await: k.source.nodes.Reached(made.ResourceVersion)}, nil
	}
	status := k.nodeStatus(n.Status, now)
	k.mu.Lock()
	written := k.statusWritten
	other := k.nodeUID != n.UID
	k.nodeUID = n.UID
	k.mu.Unlock()
	if due := written.Add(k.o.StatusPeriod); !other && now.Before(due) && same(status, n.Status) {
		return workqueue.Result{After: due.Sub(now)}, nil
	}
	body, err := difference(corev1.Node{Status: n.Status}, corev1.Node{Status: status}, n.UID)
	if err != nil {
		return again, err
	}
	told, err := k.nodes.Patch(ctx, listwatch.Key{Name: k.o.Node}, kube.Patch{Type: types.StrategicMergePatchType, Body: body, Subresource: "status"})
	if err != nil {
		return again, kube.UnlessBehind(err)
	}
	k.wroteNode(told, now)
	if s := k.source.nodes.Reached(told.ResourceVersion); !s.Fired() {
		again.Await = s
	}
	return again, nil
}

// wroteNode notes that the node's status was written.
func (k *Kubelet) wroteNode(n *corev1.Node, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nodeUID, k.statusWritten = n.UID, now
}

// same reports whether two statuses say the same but for the time that it was said.
func same(a, b corev1.NodeStatus) bool {
	a, b = *a.DeepCopy(), *b.DeepCopy()
	for _, s := range []*corev1.NodeStatus{&a, &b} {
		for i := range s.Conditions {
			s.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
	}
	return equality.Semantic.DeepEqual(a, b)
}

// node is the node as it is registered.
func (k *Kubelet) node(now time.Time) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.o.Node, Annotations: k.o.Annotations, Labels: map[string]string{
		corev1.LabelHostname: k.o.Node, corev1.LabelOSStable: goruntime.GOOS, corev1.LabelArchStable: goruntime.GOARCH,
	}}}
	maps.Copy(n.Labels, k.o.Labels)
	n.Spec.Taints = k.o.Taints
	if k.o.PodCIDR.IsValid() {
		n.Spec.PodCIDR = k.o.PodCIDR.String()
		n.Spec.PodCIDRs = []string{n.Spec.PodCIDR}
	}
	n.Status = k.nodeStatus(corev1.NodeStatus{}, now)
	return n
}

// capacity is what the node has.
func (k *Kubelet) capacity() corev1.ResourceList {
	all := corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(int64(goruntime.NumCPU()), resource.DecimalSI), corev1.ResourceMemory: memory(),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	maps.Copy(all, k.o.Capacity)
	return all
}

// nodeStatus is the status of the node after one that the API shows. What others have written into it stays.
func (k *Kubelet) nodeStatus(s corev1.NodeStatus, now time.Time) corev1.NodeStatus {
	s = *s.DeepCopy()
	s.Addresses, s.Capacity, s.Allocatable = k.o.Addresses, k.capacity(), k.capacity()
	s.DaemonEndpoints.KubeletEndpoint.Port = k.o.Port
	s.NodeInfo.OperatingSystem, s.NodeInfo.Architecture = goruntime.GOOS, goruntime.GOARCH
	s.NodeInfo.ContainerRuntimeVersion, s.NodeInfo.KubeletVersion = k.o.RuntimeName+"://", version
	s.NodeInfo.KernelVersion = kernel()
	set := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) {
		at := metav1.NewTime(now.Truncate(time.Second))
		c := corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: at, LastTransitionTime: at}
		for i := range s.Conditions {
			if old := &s.Conditions[i]; old.Type == kind {
				if old.Status == status {
					c.LastTransitionTime = old.LastTransitionTime
				}
				*old = c
				return
			}
		}
		s.Conditions = append(s.Conditions, c)
	}
	set(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available")
	set(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure")
	set(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available")
	set(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
	return s
}

// keepLease tells others that the node lives, four times in LeaseDuration, until ctx is done.
func (k *Kubelet) keepLease(ctx context.Context) error {
	leases := kube.For[*coordinationv1.Lease](k.o.Cluster)
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(k.o.Node)) // it never fails
	// The first wait is shorter, by the node's name: nodes that start together do not renew together.
	wait := time.Duration(float64(k.o.LeaseDuration/4) * float64(hash.Sum32()) / (1 << 32))
	for {
		if err := k.renew(ctx, leases); err != nil && ctx.Err() == nil {
			k.o.Logger.Warn("lease not renewed", "node", k.o.Node, "error", err)
		}
		if timing.Sleep(ctx, k.o.Clock, wait) != nil {
			return nil
		}
		wait = k.o.LeaseDuration / 4
	}
}

// renew renews the node's lease, or makes it.
func (k *Kubelet) renew(ctx context.Context, leases kube.Client[*coordinationv1.Lease]) error {
	ctx, cancel := context.WithTimeout(ctx, k.o.LeaseDuration/4)
	defer cancel()
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: k.o.Node}}
	l.Spec.HolderIdentity, l.Spec.RenewTime = &k.o.Node, ptr.To(metav1.NewMicroTime(k.o.Clock.Now()))
	l.Spec.LeaseDurationSeconds = ptr.To(int32(k.o.LeaseDuration / time.Second))
	key := listwatch.Key{Namespace: l.Namespace, Name: l.Name}
	_, err := leases.Patch(ctx, key, kube.Patch{Body: map[string]any{"spec": l.Spec}})
	if !apierrors.IsNotFound(err) {
		return err
	}
	k.mu.Lock()
	if k.nodeUID != "" {
		l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: k.o.Node, UID: k.nodeUID}}
	}
	k.mu.Unlock()
	_, err = leases.Create(ctx, l)
	return err
}

package kubelet

import (
	"context"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/podstate"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// Runtime is where commands are executed. See Host.
func (k *Kubelet) Runtime() runtime.Service { return k.o.Runtime }

// Pods returns the pods of the node. See Host.
func (k *Kubelet) Pods() []*corev1.Pod {
	var all []*corev1.Pod
	for _, p := range append(k.source.own.List(), k.statics()...) {
		if !isMirror(p) {
			all = append(all, k.now(p))
		}
	}
	return all
}

// now is a copy of a pod with its status as it was worked out last.
func (k *Kubelet) now(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	k.mu.Lock()
	r := k.records[p.UID]
	k.mu.Unlock()
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.status.Phase != "" {
			p.Status = *r.status.DeepCopy()
		}
	}
	return p
}

// Container finds a container. See Host.
func (k *Kubelet) Container(ctx context.Context, r Ref) (Found, error) {
	key := listwatch.Key{Namespace: r.Namespace, Name: r.Name}
	p, ok := k.source.own.Get(key)
	if s := k.staticNamed(key); s != nil {
		p, ok = s, true
	}
	if !ok || r.UID != "" && r.UID != p.UID {
		return Found{}, apierrors.NewNotFound(corev1.Resource("pods"), r.Name)
	}
	if r.Container == "" && len(p.Spec.Containers) == 1 {
		r.Container = p.Spec.Containers[0].Name
	}
	if named(&p.Spec, r.Container) == nil {
		return Found{}, apierrors.NewBadRequest("container " + r.Container + " is not valid for pod " + r.Name)
	}
	s, err := k.observe(ctx, p.UID)
	if err != nil {
		return Found{}, err
	}
	v := podstate.View{Pod: p, Sandboxes: s.boxes, Containers: s.containers}
	c := v.Latest(r.Container)
	if r.Previous {
		c = v.Previous(r.Container)
	}
	if c == nil || c.State == runtime.Created {
		return Found{}, apierrors.NewBadRequest("container " + r.Container + " in pod " + r.Name + " has not run")
	}
	f := Found{Pod: k.now(p), Container: *c}
	for _, b := range s.boxes {
		if b.ID == c.Sandbox {
			f.IP, f.LogPath = or(b.IP, k.host()), filepath.Join(b.Config.LogDirectory, c.Config.LogPath)
		}
	}
	return f, nil
}

// Summary returns what is used. See Host.
func (k *Kubelet) Summary(ctx context.Context) (*Summary, error) {
	stats, err := k.o.Runtime.Stats(ctx)
	if err != nil {
		return nil, err
	}
	boxes, err := k.o.Runtime.ListPodSandboxes(ctx)
	if err != nil {
		return nil, err
	}
	containers, err := k.o.Runtime.ListContainers(ctx)
	if err != nil {
		return nil, err
	}
	used := map[string]runtime.Stats{}
	for _, s := range stats {
		used[s.Container] = s
	}
	at := metav1.NewTime(k.o.Clock.Now())
	sum := &Summary{Node: NodeStats{NodeName: k.o.Node, StartTime: metav1.NewTime(k.started), CPU: CPUStats{Time: at}, Memory: MemoryStats{Time: at}}}
	seen := map[string]usage{}
	for _, b := range boxes {
		p := PodStats{StartTime: metav1.NewTime(b.Created), CPU: CPUStats{Time: at}, Memory: MemoryStats{Time: at},
			PodRef: PodReference{Name: b.Config.Name, Namespace: b.Config.Namespace, UID: types.UID(b.Config.UID)}}
		for _, c := range containers {
			if s, ok := used[c.ID]; ok && c.Sandbox == b.ID {
				p.add(c, k.uses(s, seen))
			}
		}
		if len(p.Containers) > 0 {
			sum.Pods = append(sum.Pods, p)
			sum.Node.CPU.add(p.CPU)
			sum.Node.Memory.WorkingSetBytes += p.Memory.WorkingSetBytes
		}
	}
	k.mu.Lock()
	k.used = seen
	k.mu.Unlock()
	return sum, nil
}

// usage is what a container had used at a time, and how fast it did before.
type usage struct {
	at   time.Time
	cpu  time.Duration
	rate *uint64
}

// uses is what a container uses, which seen gets for the next look.
func (k *Kubelet) uses(s runtime.Stats, seen map[string]usage) ContainerStats {
	k.mu.Lock()
	last, ok := k.used[s.Container]
	k.mu.Unlock()
	u := usage{at: s.At, cpu: s.CPU}
	if ok && s.At.Sub(last.at) < time.Second {
		u = last
	} else if ok {
		rate := uint64(float64(s.CPU-last.cpu) / s.At.Sub(last.at).Seconds())
		u.rate = &rate
	}
	seen[s.Container] = u
	at := metav1.NewTime(s.At)
	return ContainerStats{CPU: CPUStats{Time: at, UsageNanoCores: u.rate, UsageCoreNanoSeconds: uint64(s.CPU)},
		Memory: MemoryStats{Time: at, WorkingSetBytes: uint64(s.MemoryBytes)}}
}

func (p *PodStats) add(c runtime.Container, s ContainerStats) {
	s.Name, s.StartTime = c.Config.Name, metav1.NewTime(c.Started)
	p.Containers = append(p.Containers, s)
	p.CPU.add(s.CPU)
	p.Memory.WorkingSetBytes += s.Memory.WorkingSetBytes
}

// add adds what another has used; a rate when one is known.
func (c *CPUStats) add(o CPUStats) {
	c.UsageCoreNanoSeconds += o.UsageCoreNanoSeconds
	if o.UsageNanoCores != nil {
		rate := *o.UsageNanoCores
		if c.UsageNanoCores != nil {
			rate += *c.UsageNanoCores
		}
		c.UsageNanoCores = &rate
	}
}

package kubelet

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/kubelet/podstate"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/probe"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// watch begins the probes of containers that run, and ends those of others. While the pod ends none is made.
func (k *Kubelet) watch(ctx context.Context, r *record, v *podstate.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	running, probed := map[string]bool{}, map[string]bool{}
	for _, l := range v.Running() {
		running[l.ID] = true
		c := named(&v.Pod.Spec, l.Config.Name)
		if c == nil || v.Ended() || c.StartupProbe == nil && c.ReadinessProbe == nil && c.LivenessProbe == nil {
			continue
		}
		probed[l.ID] = true
		if r.probing[l.ID] != nil || v.Busy[c.Name] {
			continue
		}
		within, cancel := context.WithCancel(ctx)
		r.probing[l.ID] = cancel
		r.probed[l.ID] = podstate.Probed{Started: c.StartupProbe == nil, Ready: c.StartupProbe == nil && c.ReadinessProbe == nil}
		ip := ""
		if box := v.Sandbox(); box != nil {
			ip = box.IP
		}
		k.tasks.Go(func() { k.probes(within, r, c, l, k.target(c, l.ID, ip)) })
	}
	for id, cancel := range r.probing {
		if !probed[id] {
			cancel()
			delete(r.probing, id)
			delete(r.probed, id)
		}
	}
	maps.DeleteFunc(r.stopping, func(id string, _ time.Time) bool { return !running[id] })
}

// named finds a container of a pod, or returns nil.
func named(s *corev1.PodSpec, name string) *corev1.Container {
	for _, all := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
	}
	return nil
}

// probes probes a container: whether it has started, and from then on whether it is ready and alive.
func (k *Kubelet) probes(ctx context.Context, r *record, c *corev1.Container, l runtime.Container, t probe.Target) {
	set := func(change func(*podstate.Probed)) {
		r.mu.Lock()
		if p, ok := r.probed[l.ID]; ok {
			change(&p)
			r.probed[l.ID] = p
		}
		r.mu.Unlock()
		k.queue.Add(r.uid)
	}
	if p := c.StartupProbe; p != nil {
		count := probe.Count{}
		probe.Run(ctx, k.o.Clock, p, l.Started, func() bool {
			changed := count.Add(probe.Once(ctx, p, t) == nil, p)
			return !changed && !count.Failed(p)
		})
		if !count.OK {
			if ctx.Err() == nil {
				set(func(of *podstate.Probed) { of.Dead = "startup" })
			}
			return
		}
		set(func(of *podstate.Probed) { of.Started, of.Ready = true, c.ReadinessProbe == nil })
	}
	if c.LivenessProbe != nil {
		k.tasks.Go(func() { k.alive(ctx, c.LivenessProbe, l, t, set) })
	}
	if p := c.ReadinessProbe; p != nil {
		count := probe.Count{}
		probe.Run(ctx, k.o.Clock, p, l.Started, func() bool {
			if count.Add(probe.Once(ctx, p, t) == nil, p) && ctx.Err() == nil {
				set(func(of *podstate.Probed) { of.Ready = count.OK })
			}
			return true
		})
	}
}

// alive probes whether a container lives, until it does not.
func (k *Kubelet) alive(ctx context.Context, p *corev1.Probe, l runtime.Container, t probe.Target, set func(func(*podstate.Probed))) {
	count := probe.Count{OK: true}
	probe.Run(ctx, k.o.Clock, p, l.Started, func() bool {
		count.Add(probe.Once(ctx, p, t) == nil, p)
		return count.OK
	})
	if !count.OK && ctx.Err() == nil {
		set(func(of *podstate.Probed) { of.Dead = "liveness" })
	}
}

package kubelet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/kubelet/inputs"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/podstate"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/probe"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// The waits before a container that could not be made is tried again.
const (
	firstWait = 10 * time.Second
	maxWait   = 5 * time.Minute
)

// fault is why a container could not be started, in a word and as an error.
type fault struct {
	reason string
	err    error
}

// start starts a container beside the steps.
func (k *Kubelet) start(ctx context.Context, r *record, p *corev1.Pod, box runtime.Sandbox, s podstate.Start) {
	name := s.Container.Name
	r.mu.Lock()
	r.busy[name] = true
	r.mu.Unlock()
	k.task(r.uid, func() {
		f := k.run(ctx, r, p, box, s)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.busy, name)
		if f.err == nil || ctx.Err() != nil {
			delete(r.held, name)
			delete(r.failures, name)
			return
		}
		wait := min(firstWait<<min(r.failures[name], 10), maxWait)
		r.failures[name]++
		now := k.o.Clock.Now()
		r.held[name] = podstate.Held{Reason: f.reason, Message: f.err.Error(), Since: now, Until: now.Add(wait)}
		k.tell(p, corev1.EventTypeWarning, "Failed", "Error: "+f.err.Error())
		k.o.Logger.Warn("container not started", "pod", keyOf(p).String(), "container", name, "reason", f.reason, "error", f.err)
	})
}

// run makes and starts a container. One whose start has failed has ended by that, which its state tells.
func (k *Kubelet) run(ctx context.Context, r *record, p *corev1.Pod, box runtime.Sandbox, s podstate.Start) fault {
	c := s.Container
	id := s.ID
	if id == "" {
		image, err := k.o.Images.PullImage(ctx, c.Image)
		if err != nil {
			return fault{podstate.ErrImagePull, fmt.Errorf("failed to pull image %q: %w", c.Image, err)}
		}
		config, err := k.config(ctx, r, p, box, s)
		if err != nil {
			return fault{"CreateContainerConfigError", err}
		}
		config.Image = image
		if id, err = k.o.Runtime.CreateContainer(ctx, box.ID, config); err != nil {
			return fault{"CreateContainerError", err}
		}
		k.tell(p, corev1.EventTypeNormal, "Created", "Created container: "+c.Name)
	}
	if err := k.o.Runtime.StartContainer(ctx, id); err != nil {
		k.tell(p, corev1.EventTypeWarning, "Failed", "Error: "+err.Error())
		k.o.Logger.Warn("container not started", "pod", keyOf(p).String(), "container", c.Name, "error", err)
		return fault{}
	}
	k.tell(p, corev1.EventTypeNormal, "Started", "Started container "+c.Name)
	k.o.Logger.Info("started container", "pod", keyOf(p).String(), "container", c.Name, "node", k.o.Node, "attempt", s.Attempt)
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
		return fault{}
	}
	if err := k.hook(ctx, *c.Lifecycle.PostStart, k.target(c, id, box.IP)); err != nil && ctx.Err() == nil {
		k.tell(p, corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed")
		grace := time.Duration(ptr.Deref(p.Spec.TerminationGracePeriodSeconds, 30)) * time.Second
		return fault{"PostStartHookError", errors.Join(err, k.o.Runtime.StopContainer(ctx, id, grace))}
	}
	return fault{}
}

// config says what a container runs, and makes the volumes of its pod.
func (k *Kubelet) config(ctx context.Context, r *record, p *corev1.Pod, box runtime.Sandbox, s podstate.Start) (runtime.ContainerConfig, error) {
	c := s.Container
	config := runtime.ContainerConfig{
		Name: c.Name, Attempt: s.Attempt, WorkingDir: c.WorkingDir, Limits: limits(c),
		Annotations: map[string]string{podstate.AnnotationHash: podstate.Hash(c), podstate.AnnotationBackoff: s.Backoff.String()},
	}
	in := inputs.Inputs{
		Pod: p, Source: k.inputs, Dir: k.podDir(p.UID), HostIP: k.host(), PodIP: or(box.IP, k.host()), Allocatable: k.capacity(),
	}
	var err error
	if config.Env, err = in.Env(ctx, c); err != nil {
		return config, err
	}
	if k.o.Dir != "" {
		config.LogPath = filepath.Join(c.Name, strconv.Itoa(s.Attempt)+".log")
		r.files.Lock()
		err = in.Volumes(ctx)
		r.files.Unlock()
		if err != nil {
			return config, err
		}
		if config.Mounts, err = in.Mounts(c, config.Env); err != nil {
			return config, err
		}
	}
	env := inputs.Map(config.Env)
	for _, a := range c.Command {
		config.Command = append(config.Command, inputs.Expand(a, env))
	}
	for _, a := range c.Args {
		config.Args = append(config.Args, inputs.Expand(a, env))
	}
	return config, nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// target is a container to probe.
func (k *Kubelet) target(c *corev1.Container, id, ip string) probe.Target {
	return probe.Target{IP: or(ip, k.host()), Container: c, Exec: func(ctx context.Context, command []string) error {
		code, err := k.o.Runtime.Exec(ctx, id, runtime.Exec{Command: command})
		if err == nil && code != 0 {
			err = fmt.Errorf("command ended with exit code %d", code)
		}
		return err
	}}
}

// hook does what is to be done after the start of a container or before its end.
func (k *Kubelet) hook(ctx context.Context, h corev1.LifecycleHandler, t probe.Target) error {
	if h.Sleep != nil {
		return timing.Sleep(ctx, k.o.Clock, time.Duration(h.Sleep.Seconds)*time.Second)
	}
	return probe.Handle(ctx, h, t)
}

// stop ends a container beside the steps. One that is ending already is told again only when it has less time now.
func (k *Kubelet) stop(ctx context.Context, r *record, v *podstate.View, s podstate.Stop) {
	id, name := s.Container.ID, s.Container.Config.Name
	r.mu.Lock()
	by := v.Now.Add(time.Duration(ptr.Deref(v.Pod.Spec.TerminationGracePeriodSeconds, 30)) * time.Second)
	if !r.endBy.IsZero() {
		by = r.endBy
	}
	before, again := r.stopping[id]
	if again && !by.Before(before) {
		r.mu.Unlock()
		return
	}
	r.stopping[id] = by
	r.mu.Unlock()
	k.o.Logger.Info("stopping container", "pod", keyOf(v.Pod).String(), "container", name, "node", k.o.Node, "reason", s.Message)
	k.tell(v.Pod, corev1.EventTypeNormal, "Killing", or(s.Message, "Stopping container "+name))
	var hook *corev1.LifecycleHandler
	of := named(&v.Pod.Spec, name)
	if of != nil && of.Lifecycle != nil && !again {
		hook = of.Lifecycle.PreStop
	}
	ip := ""
	if box := v.Sandbox(); box != nil {
		ip = box.IP
	}
	k.task(r.uid, func() {
		if left := by.Sub(k.o.Clock.Now()); hook != nil && left > 0 {
			within, cancel := context.WithTimeout(ctx, left)
			if err := k.hook(within, *hook, k.target(of, id, ip)); err != nil {
				k.tell(v.Pod, corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed")
			}
			cancel()
		}
		err := k.o.Runtime.StopContainer(ctx, id, max(by.Sub(k.o.Clock.Now()), 0))
		if err != nil && ctx.Err() == nil {
			r.mu.Lock()
			delete(r.stopping, id) // else it stays until it is seen that the container has ended
			r.mu.Unlock()
			k.o.Logger.Warn("container not stopped", "pod", keyOf(v.Pod).String(), "container", name, "error", err)
		}
	})
}

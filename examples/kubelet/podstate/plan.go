package podstate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// The times between the end of a container and the start of its successor: none after the first end, then minBackoff,
// doubled up to maxBackoff, and from the beginning again after it has run for longAgo.
const (
	minBackoff = 10 * time.Second
	maxBackoff = 5 * time.Minute
	longAgo    = 10 * time.Minute
)

// Plan is what to do next for a pod.
type Plan struct {
	// NewSandbox is true when a sandbox must be made before anything else.
	NewSandbox bool
	// Start are the containers to start, and Stop those to end.
	Start []Start
	Stop  []Stop
	// Waiting says why containers are not started now, by name.
	Waiting map[string]Held
	// Next is when to look again though nothing has happened. Zero: never.
	Next time.Time
	// Over is true when nothing of the pod runs, and nothing will be started any more.
	Over bool
}

// Start is a container to start.
type Start struct {
	// Container is what is wanted. Attempt counts the containers of that name.
	Container *corev1.Container
	Attempt   int
	// ID is of one that was created and never started. Empty: it has to be created.
	ID string
	// Backoff is how long is waited after its end before its successor is started.
	Backoff time.Duration
}

// Stop is a container to end.
type Stop struct {
	Container runtime.Container
	// Message says why, for the pod's events.
	Message string
}

// Decide says what to do for a pod as it is. It always says the same about the same view.
func Decide(v *View) Plan {
	p := &planner{View: v, box: v.Sandbox()}
	p.Plan.Waiting = map[string]Held{}
	switch {
	case v.Ended() || Terminal(phase(v)):
		p.end("")
	case p.box == nil:
		for _, c := range v.Running() {
			p.Stop = append(p.Stop, Stop{c, "Pod sandbox changed, it will be killed and re-created."})
		}
		p.NewSandbox = true
	default:
		if p.initialize() {
			for i := range v.Pod.Spec.Containers {
				p.run(&v.Pod.Spec.Containers[i])
			}
		}
	}
	return p.Plan
}

// planner makes a plan.
type planner struct {
	*View
	Plan
	box *runtime.Sandbox
}

// end stops what runs: sidecars when nothing else does.
func (p *planner) end(message string) {
	var sidecars []runtime.Container
	for _, c := range p.Running() {
		if i := p.initNamed(c.Config.Name); i != nil && Sidecar(i) {
			sidecars = append(sidecars, c)
			continue
		}
		p.Stop = append(p.Stop, Stop{c, message})
	}
	if len(p.Stop) == 0 {
		for _, c := range sidecars {
			p.Stop = append(p.Stop, Stop{c, message})
		}
	}
	p.Over = len(p.Stop) == 0 && len(p.Busy) == 0
}

func (p *planner) initNamed(name string) *corev1.Container {
	for i := range p.Pod.Spec.InitContainers {
		if c := &p.Pod.Spec.InitContainers[i]; c.Name == name {
			return c
		}
	}
	return nil
}

// initialize plans what comes before the pod's main containers, and reports whether that is done.
func (p *planner) initialize() bool {
	passed := p.passed()
	for i := range p.Pod.Spec.InitContainers {
		c := &p.Pod.Spec.InitContainers[i]
		l := p.Latest(c.Name)
		here := l != nil && l.Sandbox == p.box.ID
		switch {
		case Sidecar(c):
			p.run(c)
			if !passed && !(here && p.up(c, l)) {
				return false
			}
		case passed:
		case !here:
			p.start(c, l)
			return false
		case l.State == runtime.Exited && l.ExitCode == 0:
		default:
			p.run(c)
			return false
		}
	}
	return true
}

// passed reports whether a main container was made in the present sandbox, so that the init containers are over though
// nothing may be left of them.
func (p *planner) passed() bool {
	for i := range p.Pod.Spec.Containers {
		if l := p.Latest(p.Pod.Spec.Containers[i].Name); l != nil && l.Sandbox == p.box.ID {
			return true
		}
	}
	return false
}

// run plans what a container needs to run, or to run again.
func (p *planner) run(c *corev1.Container) {
	l := p.Latest(c.Name)
	switch {
	case l == nil || l.State == runtime.Created:
		p.start(c, l)
	case l.State == runtime.Running:
		if dead := p.probed(c, l.ID).Dead; dead != "" {
			p.Stop = append(p.Stop, Stop{*l, fmt.Sprintf("Container %s failed %s probe, will be restarted", c.Name, dead)})
		} else if l.Config.Annotations[AnnotationHash] != Hash(c) {
			p.Stop = append(p.Stop, Stop{*l, fmt.Sprintf("Container %s definition changed, will be restarted", c.Name)})
		}
	case again(&p.Pod.Spec, c, l):
		at, after := retry(l)
		if !p.Now.Before(at) {
			p.start(c, l)
			return
		}
		p.look(at)
		p.Waiting[c.Name] = Held{Reason: "CrashLoopBackOff", Until: at, Message: fmt.Sprintf(
			"back-off %s restarting failed container=%s pod=%s_%s(%s)", after, c.Name, p.Pod.Name, p.Pod.Namespace, p.Pod.UID)}
	}
}

// start plans to start a container after l, which may be nil or wait to be started itself.
func (p *planner) start(c *corev1.Container, l *runtime.Container) {
	held, waits := p.Held[c.Name]
	if waits {
		p.hold(c, held)
	}
	if p.Busy[c.Name] || waits && p.Now.Before(held.Until) {
		return
	}
	s := Start{Container: c}
	switch {
	case l != nil && l.State == runtime.Created && l.Sandbox == p.box.ID:
		s.Attempt, s.ID = l.Config.Attempt, l.ID
	case l != nil:
		s.Attempt, s.Backoff = l.Config.Attempt+1, next(l)
	default:
		if r := p.reported(c.Name); r != nil && (r.ContainerID != "" || r.RestartCount > 0) {
			s.Attempt = int(r.RestartCount) + 1
		}
	}
	p.Start = append(p.Start, s)
}

// hold notes why a container is not started before a time.
func (p *planner) hold(c *corev1.Container, held Held) {
	p.Waiting[c.Name] = held
	if p.Busy[c.Name] || !p.Now.Before(held.Until) {
		return
	}
	p.look(held.Until)
	if later := held.Since.Add(shown); held.Reason == ErrImagePull && p.Now.Before(later) {
		p.look(later)
	} else if held.Reason == ErrImagePull {
		p.Waiting[c.Name] = Held{Reason: ImagePullBackOff, Message: fmt.Sprintf("Back-off pulling image %q: %s: %s", c.Image, held.Reason, held.Message)}
	}
}

// look asks for another look at that time.
func (p *planner) look(at time.Time) {
	if p.Next.IsZero() || at.Before(p.Next) {
		p.Next = at
	}
}

// again reports whether a container that has ended is to run again.
func again(s *corev1.PodSpec, c *corev1.Container, l *runtime.Container) bool {
	switch {
	case Sidecar(c):
		return true
	case s.RestartPolicy == corev1.RestartPolicyNever:
		return false
	case s.RestartPolicy == corev1.RestartPolicyOnFailure || !isMain(s, c.Name):
		return l.ExitCode != 0
	}
	return true
}

func isMain(s *corev1.PodSpec, name string) bool {
	for i := range s.Containers {
		if s.Containers[i].Name == name {
			return true
		}
	}
	return false
}

// retry says when the successor of a container that has ended may be started, and how long after its end that is.
func retry(l *runtime.Container) (at time.Time, after time.Duration) {
	if ran := l.Finished.Sub(l.Started); !l.Started.IsZero() && ran >= longAgo {
		return l.Finished, 0
	}
	after, _ = time.ParseDuration(l.Config.Annotations[AnnotationBackoff]) // what is no duration is 0
	return l.Finished.Add(after), after
}

// next is the backoff of a container's successor.
func next(l *runtime.Container) time.Duration {
	if _, after := retry(l); after > 0 {
		return min(2*after, maxBackoff)
	}
	return minBackoff
}

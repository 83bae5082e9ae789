package kinds

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// fill gives a field its default when it has the zero value.
func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// fillPtr gives an optional field its default when it is missing.
func fillPtr[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// defaultPod fills in what belongs to a pod and not to a template of one.
func defaultPod(p *corev1.Pod) {
	s := &p.Spec
	fillPtr(&s.EnableServiceLinks, true)
	defaultPodSpec(s)
	eachContainer(s, func(c *corev1.Container) {
		for name, limit := range c.Resources.Limits {
			if c.Resources.Requests == nil {
				c.Resources.Requests = corev1.ResourceList{}
			}
			if _, ok := c.Resources.Requests[name]; !ok {
				c.Resources.Requests[name] = limit.DeepCopy()
			}
		}
	})
}

func defaultPodSpec(s *corev1.PodSpec) {
	fill(&s.RestartPolicy, corev1.RestartPolicyAlways)
	fillPtr(&s.TerminationGracePeriodSeconds, defaultGrace)
	fill(&s.DNSPolicy, corev1.DNSClusterFirst)
	fillPtr(&s.SecurityContext, corev1.PodSecurityContext{})
	fill(&s.SchedulerName, corev1.DefaultSchedulerName)
	fill(&s.ServiceAccountName, s.DeprecatedServiceAccount)
	s.DeprecatedServiceAccount = s.ServiceAccountName
	for i := range s.Volumes {
		defaultVolume(&s.Volumes[i].VolumeSource)
	}
	eachContainer(s, func(c *corev1.Container) {
		defaultContainer(c)
		for i := range c.Ports {
			if s.HostNetwork {
				fill(&c.Ports[i].HostPort, c.Ports[i].ContainerPort)
			}
		}
	})
}

// eachContainer calls f for the containers of a pod, those that start before the others first.
func eachContainer(s *corev1.PodSpec, f func(*corev1.Container)) {
	for i := range s.InitContainers {
		f(&s.InitContainers[i])
	}
	for i := range s.Containers {
		f(&s.Containers[i])
	}
}

func defaultContainer(c *corev1.Container) {
	fill(&c.ImagePullPolicy, pullPolicy(c.Image))
	fill(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	fill(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		fill(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for _, e := range c.Env {
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			fill(&e.ValueFrom.FieldRef.APIVersion, "v1")
		}
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p != nil {
			defaultProbe(p)
		}
	}
	if c.Lifecycle != nil {
		for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil && h.HTTPGet != nil {
				defaultHTTPGet(h.HTTPGet)
			}
		}
	}
}

// pullPolicy is to always ask for an image whose name may mean another one tomorrow.
func pullPolicy(image string) corev1.PullPolicy {
	if _, _, ok := strings.Cut(image, "@"); ok {
		return corev1.PullIfNotPresent
	}
	if _, tag, ok := strings.Cut(path.Base(image), ":"); ok && tag != "latest" {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

func defaultProbe(p *corev1.Probe) {
	fill(&p.TimeoutSeconds, 1)
	fill(&p.PeriodSeconds, 10)
	fill(&p.SuccessThreshold, 1)
	fill(&p.FailureThreshold, 3)
	if p.HTTPGet != nil {
		defaultHTTPGet(p.HTTPGet)
	}
	if p.GRPC != nil {
		fillPtr(&p.GRPC.Service, "")
	}
}

func defaultHTTPGet(a *corev1.HTTPGetAction) {
	fill(&a.Path, "/")
	fill(&a.Scheme, corev1.URISchemeHTTP)
}

// fileMode is that of files in volumes, and tokenSeconds the life of a token in one.
const (
	fileMode     = 0o644
	tokenSeconds = 3600
)

func defaultVolume(v *corev1.VolumeSource) {
	if *v == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	switch {
	case v.ConfigMap != nil:
		fillPtr(&v.ConfigMap.DefaultMode, fileMode)
	case v.Secret != nil:
		fillPtr(&v.Secret.DefaultMode, fileMode)
	case v.HostPath != nil:
		fillPtr(&v.HostPath.Type, corev1.HostPathUnset)
	case v.DownwardAPI != nil:
		fillPtr(&v.DownwardAPI.DefaultMode, fileMode)
		defaultDownward(v.DownwardAPI.Items)
	case v.Projected != nil:
		fillPtr(&v.Projected.DefaultMode, fileMode)
		for _, s := range v.Projected.Sources {
			if s.ServiceAccountToken != nil {
				fillPtr(&s.ServiceAccountToken.ExpirationSeconds, tokenSeconds)
			}
			if s.DownwardAPI != nil {
				defaultDownward(s.DownwardAPI.Items)
			}
		}
	}
}

func defaultDownward(items []corev1.DownwardAPIVolumeFile) {
	for _, f := range items {
		if f.FieldRef != nil {
			fill(&f.FieldRef.APIVersion, "v1")
		}
	}
}

// priorities are those of the two classes that every cluster has.
var priorities = map[string]int32{"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}

// preparePod sets what the server decides about a pod: its priority, for how long it stays on a
// node that is not well, and the first status.
func preparePod(p, old *corev1.Pod) {
	s := &p.Spec
	fillPtr(&s.Priority, priorities[s.PriorityClassName])
	fillPtr(&s.PreemptionPolicy, corev1.PreemptLowerPriority)
	tolerate(s, corev1.TaintNodeNotReady)
	tolerate(s, corev1.TaintNodeUnreachable)
	fill(&p.Status.Phase, corev1.PodPending)
	fill(&p.Status.QOSClass, qosClass(s))
	if old == nil && len(s.SchedulingGates) > 0 {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, LastTransitionTime: p.CreationTimestamp,
			Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates",
		}}
	}
}

// tolerate lets a pod stay for five minutes on a node with a taint that it says nothing about.
func tolerate(s *corev1.PodSpec, taint string) {
	for _, t := range s.Tolerations {
		if (t.Key == taint || t.Key == "" && t.Operator == corev1.TolerationOpExists) &&
			(t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return
		}
	}
	s.Tolerations = append(s.Tolerations, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists,
		Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300)})
}

// qosClass says what happens to a pod when memory runs out: guaranteed is who says exactly what
// it takes, best effort who says nothing.
func qosClass(s *corev1.PodSpec) corev1.PodQOSClass {
	class, said := corev1.PodQOSGuaranteed, false
	eachContainer(s, func(c *corev1.Container) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
			said = said || !request.IsZero() || !limit.IsZero()
			if limit.IsZero() || request.Cmp(limit) != 0 {
				class = corev1.PodQOSBurstable
			}
		}
	})
	if !said {
		return corev1.PodQOSBestEffort
	}
	return class
}

// defaultTemplate fills in a template of pods.
func defaultTemplate(t *corev1.PodTemplateSpec) { defaultPodSpec(&t.Spec) }

// matches reports whether a selector is there and selects what a template makes.
func matches(s *metav1.LabelSelector, t corev1.PodTemplateSpec) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labelsOf(t))
}

package kinds

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func defaultNamespace(n *corev1.Namespace) {
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelMetadataName] = n.Name
}

// prepareNamespace keeps the finalizers from being written by anything but the finalize
// subresource, which does not come by here.
func prepareNamespace(n, old *corev1.Namespace) {
	switch {
	case old != nil:
		n.Spec.Finalizers = slices.Clone(old.Spec.Finalizers)
	case n.Spec.Finalizers == nil:
		n.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
	}
	defaultNamespace(n) // the name may have been made just now
	fill(&n.Status.Phase, corev1.NamespaceActive)
}

// prepareNode taints a new node: until somebody has seen that it is well nothing shall run there.
func prepareNode(n, old *corev1.Node) {
	taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	if old != nil {
		return
	}
	for _, t := range n.Spec.Taints {
		if t.MatchTaint(&taint) {
			return
		}
	}
	n.Spec.Taints = append(n.Spec.Taints, taint)
}

func defaultNode(n *corev1.Node) {
	if n.Status.Allocatable == nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
	if n.Spec.PodCIDR != "" && len(n.Spec.PodCIDRs) == 0 {
		n.Spec.PodCIDRs = []string{n.Spec.PodCIDR}
	}
}

func defaultSecret(s *corev1.Secret) {
	fill(&s.Type, corev1.SecretTypeOpaque)
	for k, v := range s.StringData {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}

func defaultService(s *corev1.Service) {
	spec := &s.Spec
	fill(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	fill(&spec.Type, corev1.ServiceTypeClusterIP)
	for i := range spec.Ports {
		p := &spec.Ports[i]
		fill(&p.Protocol, corev1.ProtocolTCP)
		fill(&p.TargetPort, intstr.FromInt32(p.Port))
	}
	if spec.Type != corev1.ServiceTypeExternalName {
		fillPtr(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer {
		fill(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		fillPtr(&spec.AllocateLoadBalancerNodePorts, true)
	}
}

func defaultEndpoints(e *endpoints) {
	for _, s := range e.Subsets {
		for i := range s.Ports {
			fill(&s.Ports[i].Protocol, corev1.ProtocolTCP)
		}
	}
}

func defaultEndpointSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		fillPtr(&s.Ports[i].Name, "")
		fillPtr(&s.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}

func defaultReplicationController(c *corev1.ReplicationController) {
	fillPtr(&c.Spec.Replicas, 1)
	if t := c.Spec.Template; t != nil {
		if len(c.Spec.Selector) == 0 {
			c.Spec.Selector = maps.Clone(t.Labels)
		}
		if len(c.Labels) == 0 {
			c.Labels = maps.Clone(t.Labels)
		}
		defaultTemplate(t)
	}
}

func defaultReplicaSet(r *appsv1.ReplicaSet) {
	fillPtr(&r.Spec.Replicas, 1)
	defaultTemplate(&r.Spec.Template)
}

func defaultDeployment(d *appsv1.Deployment) {
	s := &d.Spec
	fillPtr(&s.Replicas, 1)
	fillPtr(&s.RevisionHistoryLimit, 10)
	fillPtr(&s.ProgressDeadlineSeconds, 600)
	fill(&s.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if s.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		fillPtr(&s.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		fillPtr(&s.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		fillPtr(&s.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	defaultTemplate(&s.Template)
}

func defaultJob(j *batchv1.Job) {
	s := &j.Spec
	if s.Completions == nil && s.Parallelism == nil {
		fillPtr(&s.Completions, 1)
	}
	fillPtr(&s.Parallelism, 1)
	fillPtr(&s.BackoffLimit, 6)
	fillPtr(&s.CompletionMode, batchv1.NonIndexedCompletion)
	fillPtr(&s.Suspend, false)
	fillPtr(&s.ManualSelector, false)
	replace := batchv1.TerminatingOrFailed
	if s.PodFailurePolicy != nil {
		replace = batchv1.Failed
	}
	fillPtr(&s.PodReplacementPolicy, replace)
	if len(j.Labels) == 0 {
		j.Labels = maps.Clone(s.Template.Labels)
	}
	defaultTemplate(&s.Template)
}

// prepareJob makes a new job's selector of its identity, so that no two jobs take each other's
// pods; a client may insist on its own. An update leaves out what the server has put there.
func prepareJob(j, old *batchv1.Job) {
	s := &j.Spec
	if *s.ManualSelector {
		return
	}
	if old != nil {
		if s.Selector == nil {
			s.Selector, s.Template.Labels = old.Spec.Selector, old.Spec.Template.Labels
		}
		return
	}
	labels := maps.Clone(s.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	uid := string(j.UID)
	labels[batchv1.ControllerUidLabel], labels["controller-uid"] = uid, uid
	labels[batchv1.JobNameLabel], labels["job-name"] = j.Name, j.Name
	s.Template.Labels = labels
	s.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: uid}}
}

func defaultHorizontalPodAutoscaler(a *autoscalingv2.HorizontalPodAutoscaler) {
	fillPtr(&a.Spec.MinReplicas, 1)
	if len(a.Spec.Metrics) == 0 {
		percent := int32(80)
		a.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{
				Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent}}}}
	}
	b := a.Spec.Behavior
	if b == nil {
		return
	}
	double := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}
	four := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15}
	fillPtr(&b.ScaleUp, autoscalingv2.HPAScalingRules{})
	fillPtr(&b.ScaleUp.StabilizationWindowSeconds, 0)
	defaultRules(b.ScaleUp, four, double)
	fillPtr(&b.ScaleDown, autoscalingv2.HPAScalingRules{})
	defaultRules(b.ScaleDown, double)
}

func defaultRules(r *autoscalingv2.HPAScalingRules, policies ...autoscalingv2.HPAScalingPolicy) {
	fillPtr(&r.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if len(r.Policies) == 0 {
		r.Policies = policies
	}
}

func defaultRef(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	fill(&ref.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if s := &subjects[i]; s.Kind != rbacv1.ServiceAccountKind {
			fill(&s.APIGroup, rbacv1.GroupName)
		}
	}
}

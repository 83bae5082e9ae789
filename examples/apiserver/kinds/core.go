package kinds

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultGrace is the API's default of spec.terminationGracePeriodSeconds, in seconds.
const defaultGrace = 30

// all is the category of what users look at first.
var all = []string{"all"}

// ConfigMaps returns the row of v1 ConfigMaps.
func ConfigMaps() *Kind {
	return typed[corev1.ConfigMap](corev1.SchemeGroupVersion, Kind{
		Columns:  configMapColumns(),
		Resource: "configmaps", ShortNames: []string{"cm"}, Namespaced: true, Check: of(checkConfigMap), CheckUpdate: changes(changeConfigMap)})
}

// Secrets returns the row of v1 Secrets.
func Secrets() *Kind {
	return typed[corev1.Secret](corev1.SchemeGroupVersion, Kind{
		Columns:  secretColumns(),
		Resource: "secrets", Namespaced: true, Default: on(defaultSecret), Check: of(checkSecret), CheckUpdate: changes(changeSecret),
		Fields: of(func(s *corev1.Secret) map[string]string { return map[string]string{"type": string(s.Type)} }),
	})
}

// ServiceAccounts returns the row of v1 ServiceAccounts.
func ServiceAccounts() *Kind {
	return typed[corev1.ServiceAccount](corev1.SchemeGroupVersion, Kind{
		Columns:  nameAnd(),
		Resource: "serviceaccounts", ShortNames: []string{"sa"}, Namespaced: true})
}

// Namespaces returns the row of v1 Namespaces. One that is deleted goes when somebody has taken
// the last of spec.finalizers away by the finalize subresource.
func Namespaces() *Kind {
	return typed[corev1.Namespace](corev1.SchemeGroupVersion, Kind{
		Columns:  namespaceColumns(),
		Resource: "namespaces", ShortNames: []string{"ns"}, NoDeleteCollection: true, Name: validation.ValidateNamespaceName,
		Default: on(defaultNamespace), Prepare: both(prepareNamespace),
		Fields: of(func(n *corev1.Namespace) map[string]string {
			return map[string]string{"status.phase": string(n.Status.Phase)}
		}),
		Holds: of(func(n *corev1.Namespace) bool { return len(n.Spec.Finalizers) > 0 }),
		Mark:  on(func(n *corev1.Namespace) { n.Status.Phase = corev1.NamespaceTerminating }),
	})
}

// Nodes returns the row of v1 Nodes.
func Nodes() *Kind {
	return typed[corev1.Node](corev1.SchemeGroupVersion, Kind{
		Columns:  nodeColumns(),
		Resource: "nodes", ShortNames: []string{"no"}, Default: on(defaultNode), Prepare: both(prepareNode),
		CheckUpdate: changes(changeNode), BringsStatus: true,
		Fields: of(func(n *corev1.Node) map[string]string {
			return map[string]string{"spec.unschedulable": strconv.FormatBool(n.Spec.Unschedulable)}
		}),
	})
}

// Pods returns the row of v1 Pods.
func Pods() *Kind {
	return typed[corev1.Pod](corev1.SchemeGroupVersion, Kind{
		Columns: podColumns(), RowConditions: of(podRow),
		Resource: "pods", ShortNames: []string{"po"}, Categories: all, Namespaced: true,
		Default: on(defaultPod), Prepare: both(preparePod), Check: of(checkPod), CheckUpdate: changes(changePod), Spec: specOf,
		Fields: of(podFields), Grace: podGrace,
	})
}

// Services returns the row of v1 Services.
func Services() *Kind {
	return typed[corev1.Service](corev1.SchemeGroupVersion, Kind{
		Columns:  serviceColumns(),
		Resource: "services", ShortNames: []string{"svc"}, Categories: all, Namespaced: true, Name: validation.NameIsDNS1035Label,
		Default: on(defaultService), Prepare: both(prepareService), Check: of(checkService),
		CheckUpdate: changes(changeService), Claims: of(serviceClaims),
		Fields: of(func(s *corev1.Service) map[string]string {
			return map[string]string{"spec.clusterIP": s.Spec.ClusterIP, "spec.type": string(s.Spec.Type)}
		}),
	})
}

// Endpoints returns the row of v1 Endpoints.
func Endpoints() *Kind {
	return typed[endpoints](corev1.SchemeGroupVersion, Kind{
		Columns:  endpointsColumns(),
		Resource: "endpoints", ShortNames: []string{"ep"}, Namespaced: true, CreateOnUpdate: true, Default: on(defaultEndpoints)})
}

// Events returns the row of v1 Events.
func Events() *Kind {
	return typed[corev1.Event](corev1.SchemeGroupVersion, Kind{
		Columns:  eventColumns(),
		Resource: "events", ShortNames: []string{"ev"}, Namespaced: true, CreateOnUpdate: true, Fields: of(eventFields)})
}

// ReplicationControllers returns the row of v1 ReplicationControllers.
func ReplicationControllers() *Kind {
	return typed[corev1.ReplicationController](corev1.SchemeGroupVersion, Kind{
		Columns:  replicationControllerColumns(),
		Resource: "replicationcontrollers", ShortNames: []string{"rc"}, Categories: all, Namespaced: true, Orphans: true,
		Default: on(defaultReplicationController), Check: of(checkReplicationController), Spec: specOf,
		Fields: of(func(c *corev1.ReplicationController) map[string]string {
			return map[string]string{"status.replicas": strconv.Itoa(int(c.Status.Replicas))}
		}),
		Scale: of(func(c *corev1.ReplicationController) Scale {
			return scaleOf(&c.Spec.Replicas, c.Status.Replicas, &metav1.LabelSelector{MatchLabels: c.Spec.Selector})
		}),
	})
}

// ResourceQuotas returns the row of v1 ResourceQuotas.
func ResourceQuotas() *Kind {
	return typed[corev1.ResourceQuota](corev1.SchemeGroupVersion, Kind{
		Columns:  quotaColumns(),
		Resource: "resourcequotas", ShortNames: []string{"quota"}, Namespaced: true, CheckUpdate: changes(changeQuota)})
}

// LimitRanges returns the row of v1 LimitRanges.
func LimitRanges() *Kind {
	return typed[corev1.LimitRange](corev1.SchemeGroupVersion, Kind{
		Resource: "limitranges", ShortNames: []string{"limits"}, Namespaced: true})
}

func podFields(p *corev1.Pod) map[string]string {
	ip := ""
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	}
	return map[string]string{
		"spec.nodeName":            p.Spec.NodeName,
		"spec.restartPolicy":       string(p.Spec.RestartPolicy),
		"spec.schedulerName":       p.Spec.SchedulerName,
		"spec.serviceAccountName":  p.Spec.ServiceAccountName,
		"spec.hostNetwork":         strconv.FormatBool(p.Spec.HostNetwork),
		"status.phase":             string(p.Status.Phase),
		"status.podIP":             p.Status.PodIP,
		"status.podIPs":            ip,
		"status.nominatedNodeName": p.Status.NominatedNodeName,
	}
}

func eventFields(e *corev1.Event) map[string]string {
	source := e.Source.Component
	if source == "" {
		source = e.ReportingController
	}
	return map[string]string{
		"involvedObject.kind":            e.InvolvedObject.Kind,
		"involvedObject.namespace":       e.InvolvedObject.Namespace,
		"involvedObject.name":            e.InvolvedObject.Name,
		"involvedObject.uid":             string(e.InvolvedObject.UID),
		"involvedObject.apiVersion":      e.InvolvedObject.APIVersion,
		"involvedObject.resourceVersion": e.InvolvedObject.ResourceVersion,
		"involvedObject.fieldPath":       e.InvolvedObject.FieldPath,
		"reason":                         e.Reason,
		"reportingComponent":             e.ReportingController,
		"source":                         source,
		"type":                           e.Type,
	}
}

// podGrace is 0 for a pod that no node runs: nobody would end it.
func podGrace(o Object, asked *int64) int64 {
	p := o.(*corev1.Pod)
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return 0
	}
	if asked != nil && *asked < 0 {
		return 1 // as an API server reads it
	}
	if asked != nil {
		return *asked
	}
	if p.Spec.TerminationGracePeriodSeconds != nil {
		return *p.Spec.TerminationGracePeriodSeconds
	}
	return defaultGrace
}

// Bindings returns the row of v1 Bindings, which give pods to nodes. It stands in no table.
func Bindings() *Kind {
	return typed[corev1.Binding](corev1.SchemeGroupVersion, Kind{Resource: "bindings", Namespaced: true})
}

// Evictions returns the row of policy/v1 Evictions, which are created below pods. It stands in no table.
func Evictions() *Kind {
	return typed[policyv1.Eviction](policyv1.SchemeGroupVersion, Kind{Resource: "evictions", Namespaced: true, Virtual: true})
}

package kinds

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// defaultGrace is the API's default of spec.terminationGracePeriodSeconds.
const defaultGrace = 30

// ConfigMaps returns the row of v1 ConfigMaps.
func ConfigMaps() *Kind {
	return &Kind{
		Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Singular: "configmap",
		ShortNames: []string{"cm"}, Namespaced: true,
		New: func() Object { return &corev1.ConfigMap{} },
	}
}

// Namespaces returns the row of v1 Namespaces. They are plain objects: deleting one does not
// delete what is in it.
func Namespaces() *Kind {
	return &Kind{
		Version: "v1", Kind: "Namespace", Resource: "namespaces", Singular: "namespace",
		ShortNames: []string{"ns"},
		New:        func() Object { return &corev1.Namespace{} },
		Default: func(o Object) {
			n := o.(*corev1.Namespace)
			if n.Labels == nil {
				n.Labels = map[string]string{}
			}
			n.Labels[corev1.LabelMetadataName] = n.Name
			if n.Status.Phase == "" {
				n.Status.Phase = corev1.NamespaceActive
			}
		},
		CopyStatus: func(to, from Object) { to.(*corev1.Namespace).Status = from.(*corev1.Namespace).Status },
		Fields: func(o Object) map[string]string {
			return map[string]string{"status.phase": string(o.(*corev1.Namespace).Status.Phase)}
		},
	}
}

// Nodes returns the row of v1 Nodes.
func Nodes() *Kind {
	return &Kind{
		Version: "v1", Kind: "Node", Resource: "nodes", Singular: "node",
		ShortNames: []string{"no"},
		New:        func() Object { return &corev1.Node{} },
		CopyStatus: func(to, from Object) { to.(*corev1.Node).Status = from.(*corev1.Node).Status },
		Fields: func(o Object) map[string]string {
			return map[string]string{"spec.unschedulable": strconv.FormatBool(o.(*corev1.Node).Spec.Unschedulable)}
		},
	}
}

// Pods returns the row of v1 Pods.
func Pods() *Kind {
	return &Kind{
		Version: "v1", Kind: "Pod", Resource: "pods", Singular: "pod",
		ShortNames: []string{"po"}, Categories: []string{"all"}, Namespaced: true,
		New: func() Object { return &corev1.Pod{} },
		Default: func(o Object) {
			if p := o.(*corev1.Pod); p.Status.Phase == "" {
				p.Status.Phase = corev1.PodPending
			}
		},
		Check: func(o Object) field.ErrorList {
			if len(o.(*corev1.Pod).Spec.Containers) == 0 {
				return field.ErrorList{field.Required(field.NewPath("spec", "containers"), "")}
			}
			return nil
		},
		Spec:       func(o Object) any { return o.(*corev1.Pod).Spec },
		CopyStatus: func(to, from Object) { to.(*corev1.Pod).Status = from.(*corev1.Pod).Status },
		Fields:     podFields,
		Grace:      podGrace,
	}
}

func podFields(o Object) map[string]string {
	p := o.(*corev1.Pod)
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

// podGrace is 0 for a pod that no node runs: nobody would end it.
func podGrace(o Object, asked *int64) int64 {
	p := o.(*corev1.Pod)
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return 0
	}
	if asked != nil {
		return max(*asked, 0)
	}
	if p.Spec.TerminationGracePeriodSeconds != nil {
		return *p.Spec.TerminationGracePeriodSeconds
	}
	return defaultGrace
}

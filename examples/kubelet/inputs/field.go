package inputs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Field returns a field of the pod, as the downward API names it.
func (in *Inputs) Field(path string) (string, error) {
	p := in.Pod
	if field, key, ok := strings.Cut(strings.TrimSuffix(path, "']"), "['"); ok {
		switch field {
		case "metadata.labels":
			return p.Labels[key], nil
		case "metadata.annotations":
			return p.Annotations[key], nil
		}
	}
	switch path {
	case "metadata.name":
		return p.Name, nil
	case "metadata.namespace":
		return p.Namespace, nil
	case "metadata.uid":
		return string(p.UID), nil
	case "metadata.labels":
		return lines(p.Labels), nil
	case "metadata.annotations":
		return lines(p.Annotations), nil
	case "spec.nodeName":
		return p.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return p.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return in.HostIP, nil
	case "status.podIP", "status.podIPs":
		return in.PodIP, nil
	}
	return "", fmt.Errorf("inputs: no field %q can be given", path)
}

// lines is a map as the files of the downward API show it.
func lines(m map[string]string) string {
	var all []string
	for k, v := range m {
		all = append(all, k+"="+strconv.Quote(v))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// Resource returns a request or a limit of a container, in multiples of the divisor, rounded up. Limits that are not set
// are what the node has.
func (in *Inputs) Resource(r *corev1.ResourceFieldSelector, of *corev1.Container) (string, error) {
	if r.ContainerName != "" {
		if of = in.container(r.ContainerName); of == nil {
			return "", fmt.Errorf("inputs: no container %q", r.ContainerName)
		}
	}
	kind, name, _ := strings.Cut(r.Resource, ".")
	var q resource.Quantity
	switch kind {
	case "limits":
		var ok bool
		if q, ok = of.Resources.Limits[corev1.ResourceName(name)]; !ok {
			q = in.Allocatable[corev1.ResourceName(name)]
		}
	case "requests":
		q = of.Resources.Requests[corev1.ResourceName(name)]
	default:
		return "", fmt.Errorf("inputs: no resource %q can be given", r.Resource)
	}
	divisor := r.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if corev1.ResourceName(name) == corev1.ResourceCPU {
		return strconv.FormatInt(int64(math.Ceil(float64(q.MilliValue())/float64(divisor.MilliValue()))), 10), nil
	}
	return strconv.FormatInt(int64(math.Ceil(float64(q.Value())/float64(divisor.Value()))), 10), nil
}

func (in *Inputs) container(name string) *corev1.Container {
	for _, all := range [][]corev1.Container{in.Pod.Spec.Containers, in.Pod.Spec.InitContainers} {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
	}
	return nil
}

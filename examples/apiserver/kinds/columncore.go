package kinds

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func configMapColumns() []Column {
	return nameAnd(column("Data", corev1.ConfigMap{}.SwaggerDoc()["data"], of(func(c *corev1.ConfigMap) any {
		return len(c.Data) + len(c.BinaryData)
	})))
}

func secretColumns() []Column {
	doc := corev1.Secret{}.SwaggerDoc()
	return nameAnd(
		column("Type", doc["type"], of(func(s *corev1.Secret) any { return string(s.Type) })),
		column("Data", doc["data"], of(func(s *corev1.Secret) any { return len(s.Data) })),
	)
}

func namespaceColumns() []Column {
	return nameAnd(column("Status", "The status of the namespace", of(func(n *corev1.Namespace) any {
		return string(n.Status.Phase)
	})))
}

func serviceColumns() []Column {
	doc := corev1.ServiceSpec{}.SwaggerDoc()
	return append(nameAnd(
		column("Type", doc["type"], of(func(s *corev1.Service) any { return string(s.Spec.Type) })),
		column("Cluster-IP", doc["clusterIP"], of(func(s *corev1.Service) any { return or(s.Spec.ClusterIP, none) })),
		column("External-IP", doc["externalIPs"], of(externalIPs)),
		column("Port(s)", doc["ports"], of(servicePorts))),
		column("Selector", doc["selector"], of(func(s *corev1.Service) any { return selectorText(s.Spec.Selector) })).wide(),
	)
}

func externalIPs(s *corev1.Service) any {
	ips := s.Spec.ExternalIPs
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return s.Spec.ExternalName
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		var from []string
		for _, i := range s.Status.LoadBalancer.Ingress {
			from = append(from, cmp.Or(i.IP, i.Hostname))
		}
		ips = append(from, ips...)
		return or(strings.Join(ips, ","), "<pending>")
	}
	return or(strings.Join(ips, ","), none)
}

func servicePorts(s *corev1.Service) any {
	var ports []string
	for _, p := range s.Spec.Ports {
		text := strconv.Itoa(int(p.Port))
		if p.NodePort > 0 {
			text += ":" + strconv.Itoa(int(p.NodePort))
		}
		ports = append(ports, text+"/"+string(p.Protocol))
	}
	return or(strings.Join(ports, ","), none)
}

//lint:ignore SA1019 clients still ask for it
type endpoints = corev1.Endpoints

func endpointsColumns() []Column {
	doc := endpoints{}.SwaggerDoc()
	return nameAnd(column("Endpoints", doc["subsets"], of(func(e *endpoints) any {
		var all []string
		for _, s := range e.Subsets {
			for _, p := range s.Ports {
				for _, a := range s.Addresses {
					all = append(all, fmt.Sprintf("%s:%d", a.IP, p.Port))
				}
			}
			if len(s.Ports) == 0 {
				for _, a := range s.Addresses {
					all = append(all, a.IP)
				}
			}
		}
		return or(atMost(3, all, moreEndpoints), none)
	})))
}

func moreEndpoints(n int) string { return fmt.Sprintf(" + %d more...", n) }

func eventColumns() []Column {
	doc := corev1.Event{}.SwaggerDoc()
	name := nameColumn().wide()
	return []Column{
		timed("Last Seen", doc["lastTimestamp"], eventLast),
		column("Type", doc["type"], of(func(e *corev1.Event) any { return e.Type })),
		column("Reason", doc["reason"], of(func(e *corev1.Event) any { return e.Reason })),
		column("Object", doc["involvedObject"], of(func(e *corev1.Event) any {
			return strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name
		})),
		column("Subobject", corev1.ObjectReference{}.SwaggerDoc()["fieldPath"], of(func(e *corev1.Event) any {
			return e.InvolvedObject.FieldPath
		})).wide(),
		column("Source", doc["source"], of(eventSource)).wide(),
		column("Message", doc["message"], of(func(e *corev1.Event) any { return strings.TrimSpace(e.Message) })),
		timed("First Seen", doc["firstTimestamp"], eventFirst).wide(),
		column("Count", doc["count"], of(eventCount)).wide(),
		name,
	}
}

func eventFirst(o Object, now time.Time) any {
	e := o.(*corev1.Event)
	if e.FirstTimestamp.IsZero() {
		return since(e.EventTime.Time, now)
	}
	return since(e.FirstTimestamp.Time, now)
}

func eventLast(o Object, now time.Time) any {
	switch e := o.(*corev1.Event); {
	case e.Series != nil:
		return since(e.Series.LastObservedTime.Time, now)
	case !e.LastTimestamp.IsZero():
		return since(e.LastTimestamp.Time, now)
	}
	return eventFirst(o, now)
}

func eventSource(e *corev1.Event) any {
	component, host := e.Source.Component, e.Source.Host
	if component == "" {
		component, host = e.ReportingController, e.ReportingInstance
	}
	if host == "" {
		return component
	}
	return component + ", " + host
}

func eventCount(e *corev1.Event) any {
	if e.Series != nil {
		return e.Series.Count
	}
	return max(e.Count, 1)
}

func replicationControllerColumns() []Column {
	doc := corev1.ReplicationControllerSpec{}.SwaggerDoc()
	status := corev1.ReplicationControllerStatus{}.SwaggerDoc()
	columns := nameAnd(
		column("Desired", doc["replicas"], of(func(c *corev1.ReplicationController) any { return orZero(c.Spec.Replicas) })).as("integer"),
		column("Current", status["replicas"], of(func(c *corev1.ReplicationController) any { return c.Status.Replicas })).as("integer"),
		column("Ready", status["readyReplicas"], of(func(c *corev1.ReplicationController) any { return c.Status.ReadyReplicas })).as("integer"),
	)
	columns = append(columns, templateColumns(func(o Object) *corev1.PodTemplateSpec {
		return o.(*corev1.ReplicationController).Spec.Template
	})...)
	return append(columns, column("Selector", doc["selector"], of(func(c *corev1.ReplicationController) any {
		return selectorText(c.Spec.Selector)
	})).wide())
}

// templateColumns show the containers of the pods that an object makes.
func templateColumns(template func(Object) *corev1.PodTemplateSpec) []Column {
	of := func(field func(corev1.Container) string) func(Object) any {
		return func(o Object) any {
			var texts []string
			if t := template(o); t != nil {
				for _, c := range t.Spec.Containers {
					texts = append(texts, field(c))
				}
			}
			return strings.Join(texts, ",")
		}
	}
	return []Column{
		column("Containers", "Names of each container in the template.", of(func(c corev1.Container) string { return c.Name })).wide(),
		column("Images", "Images referenced by each container in the template.", of(func(c corev1.Container) string { return c.Image })).wide(),
	}
}

func quotaColumns() []Column {
	amounts := func(limits bool) func(Object) any {
		return of(func(q *corev1.ResourceQuota) any {
			var texts []string
			for name, hard := range q.Status.Hard {
				if strings.HasPrefix(string(name), "limits.") == limits {
					used := q.Status.Used[name]
					texts = append(texts, fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String()))
				}
			}
			slices.Sort(texts)
			return strings.Join(texts, ", ")
		})
	}
	return nameAnd(
		column("Request", "Request represents a minimum amount of cpu/memory that a container may consume.", amounts(false)),
		column("Limit", "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.",
			amounts(true)),
	)
}

func nodeColumns() []Column {
	status, info := corev1.NodeStatus{}.SwaggerDoc(), corev1.NodeSystemInfo{}.SwaggerDoc()
	address := func(t corev1.NodeAddressType) func(Object) any {
		return of(func(n *corev1.Node) any {
			for _, a := range n.Status.Addresses {
				if a.Type == t {
					return a.Address
				}
			}
			return none
		})
	}
	return append(append(nameAnd(
		column("Status", "The status of the node", of(nodeStatus)),
		column("Roles", "The roles of the node", of(nodeRoles))),
		column("Version", info["kubeletVersion"], of(func(n *corev1.Node) any { return n.Status.NodeInfo.KubeletVersion }))),
		column("Internal-IP", status["addresses"], address(corev1.NodeInternalIP)).wide(),
		column("External-IP", status["addresses"], address(corev1.NodeExternalIP)).wide(),
		column("OS-Image", info["osImage"], of(func(n *corev1.Node) any { return or(n.Status.NodeInfo.OSImage, unknown) })).wide(),
		column("Kernel-Version", info["kernelVersion"], of(nodeKernel)).wide(),
		column("Container-Runtime", info["containerRuntimeVersion"], of(func(n *corev1.Node) any {
			return or(n.Status.NodeInfo.ContainerRuntimeVersion, unknown)
		})).wide(),
	)
}

func nodeStatus(n *corev1.Node) any {
	status := "Unknown"
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionTrue:
			status = "Ready"
		default:
			status = "NotReady"
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

func nodeRoles(n *corev1.Node) any {
	var roles []string
	for key, value := range n.Labels {
		role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/")
		if key == "kubernetes.io/role" {
			role, ok = value, true
		}
		if ok && role != "" {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return or(strings.Join(slices.Compact(roles), ","), none)
}

func nodeKernel(n *corev1.Node) any {
	info := n.Status.NodeInfo
	if info.KernelVersion == "" {
		return unknown
	}
	if info.Architecture == "" {
		return info.KernelVersion
	}
	return fmt.Sprintf("%s (%s)", info.KernelVersion, info.Architecture)
}

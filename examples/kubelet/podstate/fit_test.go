package podstate_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/seed3bce33ad/listwatch/examples/kubelet/podstate"
)

func TestRefuse(t *testing.T) {
	amounts := func(all ...string) corev1.ResourceList {
		list := corev1.ResourceList{}
		for i := 0; i < len(all); i += 2 {
			list[corev1.ResourceName(all[i])] = resource.MustParse(all[i+1])
		}
		return list
	}
	pod := func(asks corev1.ResourceList, ports ...corev1.ContainerPort) *corev1.Pod {
		p := &corev1.Pod{}
		p.Spec.Containers = []corev1.Container{{Name: "c", Ports: ports, Resources: corev1.ResourceRequirements{Requests: asks}}}
		return p
	}
	at := func(ip string, port int32, protocol corev1.Protocol) *corev1.Pod {
		return pod(nil, corev1.ContainerPort{HostIP: ip, HostPort: port, Protocol: protocol, ContainerPort: 1})
	}
	has := amounts("cpu", "2", "memory", "1Gi", "pods", "3", "example.com/gpu", "1")
	initial := pod(nil)
	initial.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: corev1.ResourceRequirements{Requests: amounts("cpu", "3")}}}
	for name, c := range map[string]struct {
		p      *corev1.Pod
		others []*corev1.Pod
		reason string
	}{
		"nothing":         {p: pod(nil)},
		"all":             {p: pod(amounts("cpu", "2", "memory", "1Gi", "example.com/gpu", "1"))},
		"rest":            {p: pod(amounts("cpu", "500m")), others: []*corev1.Pod{pod(amounts("cpu", "1")), pod(amounts("cpu", "500m"))}},
		"cpu first":       {p: pod(amounts("cpu", "1", "memory", "2Gi")), others: []*corev1.Pod{pod(amounts("cpu", "1001m"))}, reason: "OutOfcpu"},
		"memory":          {p: pod(amounts("memory", "1")), others: []*corev1.Pod{pod(amounts("memory", "1Gi"))}, reason: "OutOfmemory"},
		"asks for none":   {p: pod(nil), others: []*corev1.Pod{pod(amounts("cpu", "5"))}},
		"initial":         {p: initial, reason: "OutOfcpu"},
		"another":         {p: pod(amounts("example.com/gpu", "1")), others: []*corev1.Pod{pod(amounts("example.com/gpu", "1"))}, reason: "OutOfexample.com/gpu"},
		"not told of":     {p: pod(amounts("ephemeral-storage", "1Ti"))},
		"too many":        {p: pod(nil), others: []*corev1.Pod{pod(nil), pod(nil), pod(nil)}, reason: "OutOfpods"},
		"port":            {p: at("", 80, ""), others: []*corev1.Pod{at("127.0.0.1", 80, "TCP")}, reason: "NodePorts"},
		"same address":    {p: at("127.0.0.1", 80, ""), others: []*corev1.Pod{at("127.0.0.1", 80, "")}, reason: "NodePorts"},
		"another address": {p: at("127.0.0.1", 80, ""), others: []*corev1.Pod{at("127.0.0.2", 80, "")}},
		"protocol":        {p: at("", 80, ""), others: []*corev1.Pod{at("", 80, "UDP")}},
		"no port":         {p: at("", 0, ""), others: []*corev1.Pod{at("", 0, "")}},
	} {
		held, reason := podstate.Refuse(c.p, c.others, has), ""
		if held != nil {
			reason = held.Reason
		}
		require.Equal(t, c.reason, reason, name)
	}
}

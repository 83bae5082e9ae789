// Package pod makes pods as a kubelet and a scheduler leave them, each a function of its number.
package pod

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// SentAnnotation holds the time at which an event was sent, in nanoseconds since 1970.
	SentAnnotation = "watchbench.example.com/sent"
	// SentLength is the number of digits in it.
	SentLength = 19
	// FirstVersion is the version of pod 0; each further pod's is one more. All versions have
	// ten digits, so that one can be written over another.
	FirstVersion = 1_000_000_000
)

// What pods share with each other: the pods of one deployment, the deployments of one namespace.
const (
	replicas    = 10
	deployments = 20
	podsPerNode = 30
)

// began is when the oldest pod was made.
var began = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// draw makes what differs between pods, or between deployments.
type draw struct{ *rand.Rand }

func newDraw(seed uint64, kind string, n int) draw {
	return draw{rand.New(rand.NewPCG(seed, uint64(n)<<8|uint64(kind[0])))}
}

// text returns n letters out of those that the API server uses for generated names.
func (d draw) text(n int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	var b strings.Builder
	for range n {
		b.WriteByte(letters[d.IntN(len(letters))])
	}
	return b.String()
}

func (d draw) hex(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte("0123456789abcdef"[d.IntN(16)])
	}
	return b.String()
}

func (d draw) uid() types.UID {
	return types.UID(d.hex(8) + "-" + d.hex(4) + "-4" + d.hex(3) + "-a" + d.hex(3) + "-" + d.hex(12))
}

// owner is the deployment and replica set of a pod.
type owner struct {
	namespace, app, set, hash, image, digest string
	uid                                      types.UID
}

func newOwner(seed uint64, n int) owner {
	d := newDraw(seed, "owner", n)
	app := []string{"checkout", "frontend", "payments", "search", "inventory", "mailer"}[d.IntN(6)] + "-" + d.text(4)
	hash := d.text(10)
	return owner{
		namespace: fmt.Sprintf("team-%03d", n/deployments), app: app, set: app + "-" + hash, hash: hash,
		image:  "registry.example.com/shop/" + app + ":v1." + fmt.Sprint(d.IntN(40)) + "." + fmt.Sprint(d.IntN(10)),
		digest: "sha256:" + d.hex(64), uid: d.uid(),
	}
}

// Make returns pod n of the collection that seed stands for. It has no kind and apiVersion, as
// in a list.
func Make(seed uint64, n int) *corev1.Pod {
	d := newDraw(seed, "pod", n)
	o := newOwner(seed, n/replicas)
	node := d.IntN(1 + n/podsPerNode)
	made := metav1.NewTime(began.Add(time.Duration(n) * 7 * time.Second))
	ready := metav1.NewTime(made.Add(time.Duration(2+d.IntN(9)) * time.Second))
	ip := fmt.Sprintf("10.%d.%d.%d", 64+node>>8, node&255, 1+d.IntN(254))
	volume := "kube-api-access-" + d.text(5)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: o.set + "-" + d.text(5), GenerateName: o.set + "-", Namespace: o.namespace, UID: d.uid(),
			ResourceVersion: fmt.Sprint(FirstVersion + n), Generation: 1, CreationTimestamp: made,
			Labels: map[string]string{
				"app.kubernetes.io/name": o.app, "app.kubernetes.io/part-of": "shop", "pod-template-hash": o.hash,
			},
			Annotations: map[string]string{SentAnnotation: strings.Repeat("0", SentLength)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: o.set, UID: o.uid, Controller: new(true), BlockOwnerDeletion: new(true),
			}},
			ManagedFields: managed(o, ip, made, ready),
		},
		Spec:   spec(o, node, volume),
		Status: status(d, o, node, ip, moments{made, ready}),
	}
}

// managed says who has set what, the controller manager and the kubelet.
func managed(o owner, ip string, made, ready metav1.Time) []metav1.ManagedFieldsEntry {
	entry := func(manager, subresource string, at metav1.Time, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource,
		}
	}
	return []metav1.ManagedFieldsEntry{
		entry("kube-controller-manager", "", made, strings.ReplaceAll(specFields, "UID", string(o.uid))),
		entry("kubelet", "status", ready, strings.ReplaceAll(statusFields, "IP", ip)),
	}
}

const specFields = `{"f:metadata":{"f:generateName":{},"f:labels":{".":{},` +
	`"f:app.kubernetes.io/name":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"UID\"}":{}}},` +
	`"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{},"f:resources":{}}},` +
	`"f:restartPolicy":{},"f:schedulerName":{}}}`

const statusFields = `{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},` +
	`"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"IP\"}":{".":{},"f:ip":{}}},"f:startTime":{}}}`

func spec(o owner, node int, volume string) corev1.PodSpec {
	gone := func(key string) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}
	}
	return corev1.PodSpec{
		Volumes: []corev1.Volume{{Name: volume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
			},
			DefaultMode: new(int32(420)),
		}}}},
		Containers:    []corev1.Container{container(o, volume)},
		RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: new(int64(30)), DNSPolicy: corev1.DNSClusterFirst,
		ServiceAccountName: "default", DeprecatedServiceAccount: "default", NodeName: nodeName(node),
		SecurityContext: &corev1.PodSecurityContext{}, SchedulerName: corev1.DefaultSchedulerName,
		Tolerations: []corev1.Toleration{gone(corev1.TaintNodeNotReady), gone(corev1.TaintNodeUnreachable)},
		Priority:    new(int32(0)), EnableServiceLinks: new(true), PreemptionPolicy: new(corev1.PreemptLowerPriority),
	}
}

func nodeName(n int) string { return fmt.Sprintf("ip-10-1-%d-%d.internal", n>>8, n&255) }

func container(o owner, volume string) corev1.Container {
	amounts := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	return corev1.Container{
		Name: "app", Image: o.image,
		Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
		Env:          []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}},
		Resources:    corev1.ResourceRequirements{Limits: amounts("500m", "256Mi"), Requests: amounts("100m", "128Mi")},
		VolumeMounts: []corev1.VolumeMount{{Name: volume, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:     corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP}},
			TimeoutSeconds:   1,
			PeriodSeconds:    10,
			SuccessThreshold: 1, FailureThreshold: 3,
		},
		TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		ImagePullPolicy: corev1.PullIfNotPresent,
	}
}

// moments are the two of a pod's start.
type moments struct{ made, ready metav1.Time }

func status(d draw, o owner, node int, ip string, at moments) corev1.PodStatus {
	host := fmt.Sprintf("10.1.%d.%d", node>>8, node&255)
	condition := func(t corev1.PodConditionType, since metav1.Time) corev1.PodCondition {
		return corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: since}
	}
	return corev1.PodStatus{
		Phase: corev1.PodRunning,
		Conditions: []corev1.PodCondition{
			condition(corev1.PodReadyToStartContainers, at.ready), condition(corev1.PodInitialized, at.made),
			condition(corev1.PodReady, at.ready), condition(corev1.ContainersReady, at.ready), condition(corev1.PodScheduled, at.made),
		},
		HostIP: host, HostIPs: []corev1.HostIP{{IP: host}}, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, StartTime: &at.made,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "app", Ready: true, Started: new(true), Image: o.image,
			State:   corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at.ready}},
			ImageID: "registry.example.com/shop/" + o.app + "@" + o.digest, ContainerID: "containerd://" + d.hex(64),
		}},
		QOSClass: corev1.PodQOSBurstable,
	}
}

package manifest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// The annotations of static pods, and of what shows them.
const (
	// AnnotationSource says where a pod comes from: "file".
	AnnotationSource = "kubernetes.io/config.source"
	// AnnotationHash is the UID of a static pod, as [corev1.MirrorPodAnnotationKey] is.
	AnnotationHash = "kubernetes.io/config.hash"
	// SourceFile is the source of pods that files say.
	SourceFile = "file"
)

// Parse reads the pod of a file, for a node. Without a namespace it is in "default".
func Parse(name string, text []byte, node string) (*corev1.Pod, error) {
	document, err := single(text)
	if err != nil {
		return nil, err
	}
	p := &corev1.Pod{}
	if err := yaml.UnmarshalStrict(document, p); err != nil {
		return nil, err
	}
	if p.APIVersion != "v1" || p.Kind != "Pod" {
		return nil, fmt.Errorf("it is %s of %q, not a Pod of v1", p.Kind, p.APIVersion)
	}
	if p.Namespace == "" {
		p.Namespace = metav1.NamespaceDefault
	}
	p.Status = corev1.PodStatus{}
	if err := check(p, node); err != nil {
		return nil, err
	}
	said, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", node, name, said))
	meta := metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name + "-" + strings.ToLower(node), Labels: p.Labels, Annotations: maps.Clone(p.Annotations)}
	meta.UID = types.UID(hex.EncodeToString(sum[:16]))
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Annotations[AnnotationSource], meta.Annotations[AnnotationHash] = SourceFile, string(meta.UID)
	p.TypeMeta, p.ObjectMeta, p.Spec.NodeName = metav1.TypeMeta{}, meta, node
	if p.Spec.RestartPolicy == "" {
		p.Spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	return p, nil
}

// single returns the only document of a text that says anything.
func single(text []byte) ([]byte, error) {
	var found []byte
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) && found != nil {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("it says nothing: %w", err)
		}
		var says any
		if err := yaml.Unmarshal(document, &says); err != nil {
			return nil, err
		}
		if says == nil {
			continue
		}
		if found != nil {
			return nil, errors.New("it says more than one thing")
		}
		found = document
	}
}

// check says what is wrong with a pod. That what becomes of names stays in its directory is seen to here; the rest is for
// the API server, when it is shown the pod.
func check(p *corev1.Pod, node string) error {
	var errs []error
	named := func(what, name string, faults []string) {
		if len(faults) > 0 {
			errs = append(errs, fmt.Errorf("%s %q: %s", what, name, strings.Join(faults, ", ")))
		}
	}
	named("name", p.Name, validation.IsDNS1123Subdomain(p.Name+"-"+strings.ToLower(node)))
	named("name", p.Name, validation.IsDNS1123Subdomain(p.Name))
	named("namespace", p.Namespace, validation.IsDNS1123Label(p.Namespace))
	if len(p.Spec.Containers) == 0 {
		errs = append(errs, errors.New("there is no container"))
	}
	if len(p.Spec.EphemeralContainers) > 0 {
		errs = append(errs, errors.New("there are ephemeral containers"))
	}
	if p.Spec.NodeName != "" && p.Spec.NodeName != node {
		errs = append(errs, fmt.Errorf("it is for the node %q", p.Spec.NodeName))
	}
	seen := map[string]bool{}
	for _, all := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range all {
			c := &all[i]
			named("container", c.Name, validation.IsDNS1123Label(c.Name))
			if seen[c.Name] || c.Image == "" {
				errs = append(errs, fmt.Errorf("container %q has the name of another, or no image", c.Name))
			}
			seen[c.Name] = true
		}
	}
	for _, v := range p.Spec.Volumes {
		named("volume", v.Name, validation.IsDNS1123Label(v.Name))
	}
	if what := refersTo(&p.Spec); what != "" {
		errs = append(errs, fmt.Errorf("it refers to %s, which is in the API", what))
	}
	return errors.Join(errs...)
}

// refersTo names something in the API that a pod needs.
func refersTo(s *corev1.PodSpec) string {
	if s.ServiceAccountName != "" || s.DeprecatedServiceAccount != "" {
		return "a service account"
	}
	if len(s.ImagePullSecrets) > 0 {
		return "a secret"
	}
	for _, v := range s.Volumes {
		if v.EmptyDir == nil && v.HostPath == nil && v.DownwardAPI == nil {
			return "what volume " + v.Name + " holds"
		}
	}
	for _, all := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for _, c := range all {
			if len(c.EnvFrom) > 0 {
				return "an environment"
			}
			for _, e := range c.Env {
				if from := e.ValueFrom; from != nil && (from.SecretKeyRef != nil || from.ConfigMapKeyRef != nil) {
					return "variable " + e.Name
				}
			}
		}
	}
	return ""
}

// Mirrors returns the UID of the static pod that an object of the API shows, and false for other pods.
func Mirrors(p *corev1.Pod) (types.UID, bool) {
	uid, ok := p.Annotations[corev1.MirrorPodAnnotationKey]
	return types.UID(uid), ok
}

// Mirror makes the pod that shows a static one in the API. It belongs to the node.
func Mirror(p *corev1.Pod, node *corev1.Node) *corev1.Pod {
	m := p.DeepCopy()
	m.UID, m.Status = "", corev1.PodStatus{}
	m.Annotations[corev1.MirrorPodAnnotationKey] = string(p.UID)
	m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: ptr.To(true)}}
	return m
}

// Shows reports whether an object of the API is what [Mirror] has made for the same pod and node, unchanged but for its
// status.
func Shows(m, p *corev1.Pod, node *corev1.Node) bool {
	uid, _ := Mirrors(m)
	return uid == p.UID && m.DeletionTimestamp == nil && m.Generation <= 1 && maps.Equal(m.Labels, p.Labels) &&
		metav1.IsControlledBy(m, node) && m.Annotations[AnnotationSource] == SourceFile
}

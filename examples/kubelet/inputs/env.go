package inputs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
)

// Source is where what is given is read from. A missing object is an error of k8s.io/apimachinery/pkg/api/errors that says
// so.
type Source interface {
	// ConfigMap and Secret return the objects of these names in the pod's namespace.
	ConfigMap(ctx context.Context, p *corev1.Pod, name string) (*corev1.ConfigMap, error)
	Secret(ctx context.Context, p *corev1.Pod, name string) (*corev1.Secret, error)
	// Token returns a token of the pod's service account.
	Token(ctx context.Context, p *corev1.Pod, of *corev1.ServiceAccountTokenProjection) (string, error)
}

// Inputs makes what the containers of a pod are given.
type Inputs struct {
	// Pod is the pod, and Source is where the rest is read from.
	Pod    *corev1.Pod
	Source Source
	// Dir is where the pod's volumes are, a directory each.
	Dir string
	// HostIP and PodIP are the addresses of node and pod. Allocatable is what the node has.
	HostIP, PodIP string
	Allocatable   corev1.ResourceList
}

// Env returns the environment of a container as NAME=value, in the order of its names. It blocks for requests of Source.
func (in *Inputs) Env(ctx context.Context, c *corev1.Container) ([]string, error) {
	env := map[string]string{}
	for _, from := range c.EnvFrom {
		data, err := in.all(ctx, &from)
		if err != nil {
			return nil, err
		}
		for k, v := range data {
			env[from.Prefix+k] = v
		}
	}
	for _, v := range c.Env {
		value, given, err := in.value(ctx, &v, c, env)
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", v.Name, err)
		}
		if given {
			env[v.Name] = value
		}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		all = append(all, name+"="+env[name])
	}
	return all, nil
}

// all returns all of a config map or of a secret.
func (in *Inputs) all(ctx context.Context, from *corev1.EnvFromSource) (map[string]string, error) {
	switch {
	case from.ConfigMapRef != nil:
		m, err := in.Source.ConfigMap(ctx, in.Pod, from.ConfigMapRef.Name)
		if err != nil {
			return nil, unlessOptional(err, from.ConfigMapRef.Optional)
		}
		return m.Data, nil
	case from.SecretRef != nil:
		s, err := in.Source.Secret(ctx, in.Pod, from.SecretRef.Name)
		if err != nil {
			return nil, unlessOptional(err, from.SecretRef.Optional)
		}
		data := map[string]string{}
		for k, v := range s.Data {
			data[k] = string(v)
		}
		return data, nil
	}
	return nil, nil
}

// unlessOptional drops the error of a missing object that may be missing.
func unlessOptional(err error, optional *bool) error {
	if ptr.Deref(optional, false) && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// value returns the value of a variable, and false when it is optional and there is none.
func (in *Inputs) value(ctx context.Context, v *corev1.EnvVar, c *corev1.Container, env map[string]string) (value string, given bool, err error) {
	from := v.ValueFrom
	switch {
	case from == nil:
		return Expand(v.Value, env), true, nil
	case from.FieldRef != nil:
		value, err = in.Field(from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = in.Resource(from.ResourceFieldRef, c)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		r := from.ConfigMapKeyRef
		m, err := in.Source.ConfigMap(ctx, in.Pod, r.Name)
		if err != nil {
			return "", false, unlessOptional(err, r.Optional)
		}
		value, given = m.Data[r.Key]
		return value, given, missingKey(given, r.Optional, "config map", r.Name, r.Key)
	case from.SecretKeyRef != nil:
		r := from.SecretKeyRef
		s, err := in.Source.Secret(ctx, in.Pod, r.Name)
		if err != nil {
			return "", false, unlessOptional(err, r.Optional)
		}
		bytes, given := s.Data[r.Key]
		return string(bytes), given, missingKey(given, r.Optional, "secret", r.Name, r.Key)
	}
	return "", false, fmt.Errorf("inputs: no known source")
}

func missingKey(given bool, optional *bool, names ...string) error {
	if given || ptr.Deref(optional, false) {
		return nil
	}
	return fmt.Errorf("inputs: %s %q has no key %q", names[0], names[1], names[2])
}

// Expand replaces $(NAME) by the variable of that name when there is one, and $$ by $.
func Expand(s string, env map[string]string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		s = rest
		if strings.HasPrefix(rest, "$") {
			b.WriteByte('$')
			s = rest[1:]
			continue
		}
		name, after, closed := strings.Cut(strings.TrimPrefix(rest, "("), ")")
		if value, ok := env[name]; ok && closed && strings.HasPrefix(rest, "(") {
			b.WriteString(value)
			s = after
			continue
		}
		b.WriteByte('$')
	}
}

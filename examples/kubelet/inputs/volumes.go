package inputs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// file is one that a volume shows.
type file struct {
	data []byte
	mode os.FileMode
}

// Volumes makes the pod's volumes, and brings the files of those that are there up to date. It blocks for requests of
// Source.
func (in *Inputs) Volumes(ctx context.Context) error {
	for i := range in.Pod.Spec.Volumes {
		v := &in.Pod.Spec.Volumes[i]
		if err := in.volume(ctx, v); err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
	}
	return nil
}

func (in *Inputs) volume(ctx context.Context, v *corev1.Volume) error {
	dir := filepath.Join(in.Dir, v.Name)
	switch {
	case v.HostPath != nil:
		return hostPath(v.HostPath)
	case v.EmptyDir != nil:
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		return os.Chmod(dir, 0o777)
	}
	sources, mode, err := projections(v)
	if err != nil {
		return err
	}
	files := map[string]file{}
	for i := range sources {
		if err := in.project(ctx, &sources[i], mode, files); err != nil {
			return err
		}
	}
	return write(dir, files)
}

// hostPath sees that what is on the node is there.
func hostPath(h *corev1.HostPathVolumeSource) error {
	kind := ptr.Deref(h.Type, corev1.HostPathUnset)
	switch kind {
	case corev1.HostPathUnset:
		return nil
	case corev1.HostPathDirectoryOrCreate:
		return os.MkdirAll(h.Path, 0o755)
	case corev1.HostPathFileOrCreate:
		f, err := os.OpenFile(h.Path, os.O_CREATE|os.O_RDONLY, 0o644)
		if err != nil {
			return err
		}
		return f.Close()
	}
	info, err := os.Stat(h.Path)
	if err != nil {
		return err
	}
	m := info.Mode()
	if kind == corev1.HostPathDirectory && !m.IsDir() || kind == corev1.HostPathFile && !m.IsRegular() ||
		kind == corev1.HostPathSocket && m&os.ModeSocket == 0 || kind == corev1.HostPathCharDev && m&os.ModeCharDevice == 0 ||
		kind == corev1.HostPathBlockDev && (m&os.ModeDevice == 0 || m&os.ModeCharDevice != 0) {
		return fmt.Errorf("hostPath type check failed: %s is not a %s", h.Path, kind)
	}
	return nil
}

// projections says what a volume shows, as if it were a projected one.
func projections(v *corev1.Volume) ([]corev1.VolumeProjection, *int32, error) {
	switch {
	case v.Projected != nil:
		return v.Projected.Sources, v.Projected.DefaultMode, nil
	case v.ConfigMap != nil:
		return []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: v.ConfigMap.LocalObjectReference, Items: v.ConfigMap.Items, Optional: v.ConfigMap.Optional,
		}}}, v.ConfigMap.DefaultMode, nil
	case v.Secret != nil:
		return []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: v.Secret.SecretName}, Items: v.Secret.Items, Optional: v.Secret.Optional,
		}}}, v.Secret.DefaultMode, nil
	case v.DownwardAPI != nil:
		return []corev1.VolumeProjection{{DownwardAPI: &corev1.DownwardAPIProjection{Items: v.DownwardAPI.Items}}}, v.DownwardAPI.DefaultMode, nil
	}
	return nil, nil, errors.New("inputs: this kind of volume is not known")
}

// project adds the files of one source.
func (in *Inputs) project(ctx context.Context, s *corev1.VolumeProjection, mode *int32, files map[string]file) error {
	usual := os.FileMode(ptr.Deref(mode, 0o644))
	switch {
	case s.ConfigMap != nil:
		m, err := in.Source.ConfigMap(ctx, in.Pod, s.ConfigMap.Name)
		if err != nil {
			return unlessOptional(err, s.ConfigMap.Optional)
		}
		data := map[string][]byte{}
		for k, v := range m.Data {
			data[k] = []byte(v)
		}
		for k, v := range m.BinaryData {
			data[k] = v
		}
		return items(files, data, s.ConfigMap.Items, usual, ptr.Deref(s.ConfigMap.Optional, false))
	case s.Secret != nil:
		secret, err := in.Source.Secret(ctx, in.Pod, s.Secret.Name)
		if err != nil {
			return unlessOptional(err, s.Secret.Optional)
		}
		return items(files, secret.Data, s.Secret.Items, usual, ptr.Deref(s.Secret.Optional, false))
	case s.ServiceAccountToken != nil:
		token, err := in.Source.Token(ctx, in.Pod, s.ServiceAccountToken)
		if err != nil {
			return err
		}
		return add(files, s.ServiceAccountToken.Path, file{[]byte(token), usual})
	case s.DownwardAPI != nil:
		for i := range s.DownwardAPI.Items {
			if err := in.downward(&s.DownwardAPI.Items[i], usual, files); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("inputs: this kind of projection is not known")
}

// downward adds a file that shows something of the pod.
func (in *Inputs) downward(item *corev1.DownwardAPIVolumeFile, mode os.FileMode, files map[string]file) error {
	var value string
	var err error
	if item.FieldRef != nil {
		value, err = in.Field(item.FieldRef.FieldPath)
	} else if item.ResourceFieldRef != nil {
		value, err = in.Resource(item.ResourceFieldRef, &corev1.Container{})
	}
	if err != nil {
		return err
	}
	return add(files, item.Path, file{[]byte(value), os.FileMode(ptr.Deref(item.Mode, int32(mode)))})
}

// items adds what is asked for of some data, which is all when nothing is.
func items(files map[string]file, data map[string][]byte, asked []corev1.KeyToPath, mode os.FileMode, optional bool) error {
	if len(asked) == 0 {
		for k, v := range data {
			if err := add(files, k, file{v, mode}); err != nil {
				return err
			}
		}
	}
	for _, a := range asked {
		v, ok := data[a.Key]
		if !ok && optional {
			continue
		}
		if !ok {
			return fmt.Errorf("references non-existent config key: %s", a.Key)
		}
		if err := add(files, a.Path, file{v, os.FileMode(ptr.Deref(a.Mode, int32(mode)))}); err != nil {
			return err
		}
	}
	return nil
}

func add(files map[string]file, path string, f file) error {
	if !filepath.IsLocal(path) || strings.HasPrefix(path, "..") {
		return fmt.Errorf("inputs: path %q leads out of the volume", path)
	}
	files[filepath.Clean(path)] = f
	return nil
}

// Mounts says where a container sees which volumes. Env is its environment, for paths that depend on it.
func (in *Inputs) Mounts(c *corev1.Container, env []string) ([]runtime.Mount, error) {
	var mounts []runtime.Mount
	for _, m := range c.VolumeMounts {
		path := ""
		for i := range in.Pod.Spec.Volumes {
			switch v := &in.Pod.Spec.Volumes[i]; {
			case v.Name != m.Name:
			case v.HostPath != nil:
				path = v.HostPath.Path
			default:
				path = filepath.Join(in.Dir, v.Name)
			}
		}
		if path == "" {
			return nil, fmt.Errorf("inputs: container %s mounts volume %q, which is not there", c.Name, m.Name)
		}
		sub := m.SubPath
		if m.SubPathExpr != "" {
			sub = Expand(m.SubPathExpr, Map(env))
		}
		if sub != "" {
			if !filepath.IsLocal(sub) {
				return nil, fmt.Errorf("inputs: path %q leads out of the volume", sub)
			}
			path = filepath.Join(path, sub)
			if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
				if err := os.MkdirAll(path, 0o777); err != nil {
					return nil, err
				}
			}
		}
		mounts = append(mounts, runtime.Mount{ContainerPath: m.MountPath, HostPath: path, ReadOnly: m.ReadOnly})
	}
	return mounts, nil
}

// Map is an environment by name.
func Map(env []string) map[string]string {
	m := map[string]string{}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		m[name] = value
	}
	return m
}

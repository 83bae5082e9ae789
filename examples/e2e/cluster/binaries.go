package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Binaries are the programs of a cluster.
type Binaries struct {
	// APIServer is kube-apiserver, Etcd the server of etcd, Etcdutl its tool for restores.
	APIServer, Etcd, Etcdutl string
	// Kubernetes and EtcdVersion are the versions of the modules that they are built from.
	Kubernetes, EtcdVersion string
}

// stamp makes kube-apiserver report the version of its module.
const stamp = "-X k8s.io/component-base/version.gitVersion=%s"

// Build returns the programs in dir, and builds those that are not there yet: by the go command,
// from the modules in modules/kube and modules/etcd. The version is part of a file's name, so
// that another version is another file. It blocks for minutes when much is missing; what the go
// command prints goes to log.
func Build(ctx context.Context, modules, dir string, log io.Writer) (Binaries, error) {
	b := Binaries{}
	for _, p := range []struct {
		module, of, main, name string
		path, version          *string
	}{
		{"kube", "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", "kube-apiserver", &b.APIServer, &b.Kubernetes},
		{"etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", "etcd", &b.Etcd, &b.EtcdVersion},
		{"etcd", "go.etcd.io/etcd/etcdutl/v3", "go.etcd.io/etcd/etcdutl/v3", "etcdutl", &b.Etcdutl, new(string)},
	} {
		version, err := goCommand(ctx, filepath.Join(modules, p.module), log, "list", "-m", "-f", "{{.Version}}", p.of)
		if err != nil {
			return Binaries{}, err
		}
		*p.version = version
		*p.path = filepath.Join(dir, p.name+"-"+version)
		if _, err := os.Stat(*p.path); err == nil {
			continue
		}
		fmt.Fprintf(log, "building %s\n", *p.path)
		made := fmt.Sprintf("%s.%d", *p.path, os.Getpid()) // a build that was broken off is never taken for whole
		_, err = goCommand(ctx, filepath.Join(modules, p.module), log,
			"build", "-ldflags", fmt.Sprintf(stamp, version), "-o", made, p.main)
		if err == nil {
			err = os.Rename(made, *p.path)
		}
		if err != nil {
			return Binaries{}, err
		}
	}
	return b, nil
}

// goCommand runs the go command in a module that is no part of a workspace.
func goCommand(ctx context.Context, dir string, log io.Writer, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOWORK=off")
	c.Stderr = log
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s in %s: %w", args[0], dir, err)
	}
	return strings.TrimSpace(string(out)), nil
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

func quiet() *zap.Logger { return zap.NewNop() }

// Compact makes etcd forget its history up to now. The API server keeps what it holds in its own
// memory until it is restarted.
func (c *Cluster) Compact(ctx context.Context) error {
	now, err := c.client.Get(ctx, "/", clientv3.WithCountOnly())
	if err != nil {
		return err
	}
	_, err = c.client.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
	return err
}

// Backup writes the contents of etcd to a file for [Cluster.Restore].
func (c *Cluster) Backup(ctx context.Context) (path string, err error) {
	r, err := c.client.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	defer r.Close()
	f, err := os.CreateTemp(c.dir, "backup")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, r)
	return f.Name(), errors.Join(err, f.Close())
}

// Restore kills both processes, takes etcd back to a backup, and starts them again: revisions go
// back to where they were.
func (c *Cluster) Restore(ctx context.Context, backup string) error {
	if err := errors.Join(c.APIServer.Kill(), c.Etcd.Kill()); err != nil {
		return err
	}
	made := filepath.Join(c.dir, "restored")
	out, err := exec.CommandContext(ctx, c.binaries.Etcdutl, "snapshot", "restore", backup, "--data-dir", made,
		"--name", "default", "--initial-cluster", "default="+c.peerURL, "--initial-advertise-peer-urls", c.peerURL).CombinedOutput()
	if err != nil {
		return fmt.Errorf("etcdutl: %w: %s", err, out)
	}
	if err := errors.Join(os.RemoveAll(c.data()), os.Rename(made, c.data())); err != nil {
		return err
	}
	if err := c.Etcd.Start(ctx); err != nil {
		return err
	}
	return c.APIServer.Start(ctx)
}

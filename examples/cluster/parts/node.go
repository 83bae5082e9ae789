package parts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/examples/kubelet"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/server"
	"github.com/seed3bce33ad/listwatch/examples/runtime/process"
	"github.com/seed3bce33ad/listwatch/informer"
)

// runKubelet runs the kubelet of a node and its server. The node's pods run on when it ends.
func (s Settings) runKubelet(ctx context.Context, node int, cluster *kube.Cluster, factory *informer.Factory, o Observer) (err error) {
	name := s.NodeNames()[node-1]
	r, err := process.New(s.runtime(node))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for _, missing := range r.Missing() {
		o.Logger.Info("goes without", "what", missing)
	}
	manifests := filepath.Join(s.Dir, "manifests", name)
	if err := os.MkdirAll(manifests, 0o755); err != nil {
		return err
	}
	tls, err := server.LoadTLS(s.pki("kubelet-"+name+".pem"), s.pki("ca.crt"))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	k, err := kubelet.New(kubelet.Options{
		Cluster: cluster, Factory: factory, Runtime: r, Images: r, Node: name, PodCIDR: r.CIDR(), Dir: filepath.Join(s.Dir, fmt.Sprint("k", node)),
		ManifestDir: manifests, LeaseDuration: s.Heartbeat, Logger: o.Logger, Port: int32(listener.Addr().(*net.TCPAddr).Port),
		Serve: func(ctx context.Context, h kubelet.Host) error {
			return server.Run(ctx, server.Options{Host: h, Listener: listener, TLS: tls, Logger: o.Logger})
		},
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	var ended error
	running.Go(func() {
		defer cancel()
		if e := factory.Run(ctx); ctx.Err() == nil {
			ended = e
		}
	})
	err = k.Run(ctx)
	cancel()
	running.Wait()
	return errors.Join(err, ended)
}

// Clean ends all pods that the nodes still run, and removes what they have left on this machine outside of the directory.
// No kubelet may run any more.
func Clean(s Settings) error {
	var all sync.WaitGroup
	errs := make([]error, s.Nodes)
	for i := range errs {
		all.Go(func() { errs[i] = s.clean(i + 1) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (s Settings) clean(node int) error {
	options := s.runtime(node)
	if _, err := os.Stat(options.Dir); err != nil {
		return nil // it has run nothing
	}
	r, err := process.New(options)
	if err != nil {
		return err
	}
	boxes, err := r.ListPodSandboxes(context.Background())
	for _, b := range boxes {
		err = errors.Join(err, r.RemovePodSandbox(context.Background(), b.ID))
	}
	return errors.Join(err, r.Close())
}

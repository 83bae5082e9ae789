package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

// portForward connects a client with ports of a pod.
func (s *Server) portForward(w http.ResponseWriter, r *http.Request) {
	pods := s.options.Host.Pods()
	i := slices.IndexFunc(pods, func(p *corev1.Pod) bool {
		return p.Namespace == r.PathValue("namespace") && p.Name == r.PathValue("pod")
	})
	if i < 0 || pods[i].Status.PodIP == "" {
		s.fail(w, r, apierrors.NewBadRequest(fmt.Sprintf("pod %q does not run", r.PathValue("pod"))))
		return
	}
	pod := pods[i]
	o, err := portforward.NewV4Options(r)
	if err != nil {
		s.fail(w, r, apierrors.NewBadRequest(err.Error()))
		return
	}
	ctx, cancel := whileConnected(r.Context())
	s.options.Logger.Info("port-forward", "pod", pod.Namespace+"/"+pod.Name)
	to := &forwarder{ctx: ctx, host: pod.Status.PodIP}
	defer to.end()
	defer cancel()
	portforward.ServePortForward(w, r, to, pod.Name, string(pod.UID), o, idleWait, streamsWait, portforward.SupportedProtocols)
}

// forwarder connects to the ports of one pod for one client.
type forwarder struct {
	ctx  context.Context
	host string

	mu sync.Mutex
	// ended is guarded by mu: nobody comes any more.
	ended   bool
	running sync.WaitGroup
}

// begin is false when the client has gone.
func (f *forwarder) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.running.Add(1)
	}
	return !f.ended
}

// end returns when no connection of the client is left. ctx is done then.
func (f *forwarder) end() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.running.Wait()
}

// PortForward copies between a stream of the client and a connection to a port until either has ended.
func (f *forwarder) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	if !f.begin() {
		return context.Canceled
	}
	defer f.running.Done()
	to, err := new(net.Dialer).DialContext(f.ctx, "tcp", net.JoinHostPort(f.host, strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	stop := context.AfterFunc(f.ctx, func() { _ = to.Close() })
	defer stop()
	var sending sync.WaitGroup
	sending.Go(func() {
		_, _ = io.Copy(to, stream)
		_ = to.(*net.TCPConn).CloseWrite() // the pod may have more to say
	})
	_, err = io.Copy(stream, to)
	err = errors.Join(err, stream.Close())
	_ = to.Close()
	sending.Wait()
	if f.ctx.Err() != nil {
		return nil // nobody is there to be told
	}
	return err
}

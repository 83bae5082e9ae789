package apiserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

const (
	// dialWait is how long a connection to a kubelet may take.
	dialWait = 10 * time.Second
	// refusalBytes is how much is read of what a kubelet says when it refuses.
	refusalBytes = 50_000
)

// connected reports whether a request is for what a kubelet answers, which may take as long as its client likes.
func connected(a auth.Attributes) bool {
	switch a.Group + "/" + a.Resource + "/" + a.Subresource {
	case "/pods/attach", "/pods/exec", "/pods/log", "/pods/portforward", "/nodes/proxy":
		return true
	}
	return false
}

// connect passes a request on to the kubelet that it is for, and answers with what that one answers.
func (s *Server) connect(w http.ResponseWriter, r *http.Request, t registry.Target, rest string) error {
	verbs := map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update",
		http.MethodPatch: "patch", http.MethodDelete: "delete"}
	if verb := verbs[r.Method]; t.Name == "" || verb == "" || !allowed(t, verb) {
		return errMethod()
	}
	if u := auth.From(r.Context()); u != nil && r.Method == http.MethodGet && r.Header.Get("Upgrade") != "" {
		// A GET that becomes a stream does more than to read.
		a := attributesOf(r, u)
		a.Verb = "create"
		if err := s.authorize(r.Context(), a); err != nil {
			return err
		}
	}
	c, err := s.callOf(r, t, rest)
	if err != nil {
		return err
	}
	if c.node == "" {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if err := s.locate(r.Context(), &c); err != nil {
		return err
	}
	ended := s.metrics.Watching(s.named(r))
	defer ended()
	defer s.forget(r.Context())
	return s.pass(w, r, c)
}

// pass does what [Server.connect] does once it is known where the kubelet is.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, c call) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(s.closing, cancel)
	defer stop()
	transport := s.transport(c.node)
	defer transport.CloseIdleConnections()
	var failure error
	proxy := httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		ErrorLog: slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelInfo),
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = &c.url, ""
			p.Out.Header.Del("Cookie")
		},
		ModifyResponse: c.judge,
		ErrorHandler:   func(_ http.ResponseWriter, _ *http.Request, err error) { failure = err },
	}
	answer := &patient{w, http.NewResponseController(w), s.options.SlowWatch}
	_ = answer.control.SetWriteDeadline(time.Time{}) // it may be a long time until there is something to write
	proxy.ServeHTTP(answer, r.WithContext(ctx))
	if failure == nil {
		return nil
	}
	if ctx.Err() != nil {
		panic(http.ErrAbortHandler) // nobody waits for the answer, or the server is being closed
	}
	_ = answer.control.SetWriteDeadline(time.Now().Add(s.options.SlowWatch))
	return c.explain(failure)
}

// patient gives the client new time with each write.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
	slow    time.Duration
}

// Write sends a part of the body.
func (p *patient) Write(data []byte) (int, error) {
	// It fails where there is no connection, in tests.
	_ = p.control.SetWriteDeadline(time.Now().Add(p.slow))
	return p.ResponseWriter.Write(data)
}

// FlushError is for [http.ResponseController].
func (p *patient) FlushError() error {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.slow))
	if err := p.control.Flush(); err != nil {
		return err
	}
	return p.control.SetWriteDeadline(time.Time{})
}

// Unwrap is for [http.ResponseController].
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// transport is how the kubelet of one node is reached, and nobody who is at its address in its place. It is for one
// request, so that no connection is used for another node.
func (s *Server) transport(node string) *http.Transport {
	t := &http.Transport{
		DialContext: (&net.Dialer{Timeout: dialWait}).DialContext, TLSHandshakeTimeout: dialWait,
		ResponseHeaderTimeout: s.options.Limits.RequestTimeout, DisableKeepAlives: true, DisableCompression: true,
	}
	if s.access.certs == nil {
		return t
	}
	t.TLSClientConfig = &tls.Config{
		RootCAs: s.access.certs.Roots(), ServerName: node, MinVersion: tls.VersionTLS12, Time: s.options.Clock.Now,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.access.kubeletClient() },
		VerifyConnection: func(state tls.ConnectionState) error {
			if name := state.PeerCertificates[0].Subject.CommonName; name != auth.NodePrefix+node {
				return fmt.Errorf("the certificate is that of %q, not of node %q", name, node)
			}
			return nil
		},
	}
	return t
}

// judge refuses what a kubelet must not answer, and makes of a refusal of a log what clients of the API understand.
func (c call) judge(answer *http.Response) error {
	switch code := answer.StatusCode; {
	case code >= 300 && code < 400:
		return failure(http.StatusBadGateway, metav1.StatusReasonUnknown, "the backend attempted to redirect this request, which is not permitted")
	case c.subresource == "log" && code != http.StatusOK:
		text, err := io.ReadAll(io.LimitReader(answer.Body, refusalBytes))
		if err != nil {
			return err
		}
		switch code {
		case http.StatusBadRequest:
			return apierrors.NewBadRequest(trimmed(text))
		case http.StatusNotFound:
			return apierrors.NewGenericServerResponse(code, "", c.resource, c.name, trimmed(text), 0, false)
		}
		return apierrors.NewInternalError(errors.New(trimmed(text)))
	}
	return nil
}

// explain returns what the client is told when there was no answer.
func (c call) explain(err error) error {
	var known apierrors.APIStatus
	var timeout net.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, os.ErrDeadlineExceeded):
		return errTimeout
	case c.subresource == "proxy":
		return apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v", err))
	case c.subresource == "log":
		return failure(http.StatusInternalServerError, metav1.StatusReasonUnknown, (&url.Error{Op: "Get", URL: c.url.String(), Err: err}).Error())
	}
	return failure(http.StatusInternalServerError, metav1.StatusReasonUnknown, fmt.Sprintf("error dialing backend: %v", err))
}

// Package probe finds out whether containers live, have started and are ready, as the probes of their pods say.
//
// # Usage
//
//	err := probe.Once(ctx, container.ReadinessProbe, probe.Target{IP: ip, Container: container, Exec: exec})
//	...
//	ready := probe.Count{}
//	changed := ready.Add(err == nil, container.ReadinessProbe)
//
// # Guarantees
//
//  1. A result changes only after as many equal attempts in a row as the thresholds say. (TestCount)
//  2. Attempts begin after the initial delay, come once a period, and end by their timeout. (TestRun, TestOnce)
//  3. Codes from 200 to 399, an open port, and exit code 0 are success. (TestOnce)
//
// # Concurrency
//
// Functions are safe for concurrent use; a [Count] is not.
//
// # Testing
//
// Time goes by the clock that is given, but for the timeout of an attempt.
package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/benbjohnson/clock"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Target is what is probed.
type Target struct {
	// IP is the address of the pod.
	IP string
	// Container is looked into for the numbers of named ports.
	Container *corev1.Container
	// Exec runs a command in the container and returns an error unless it has ended with code 0.
	Exec func(ctx context.Context, command []string) error
}

// Once makes one attempt. It blocks for the probe's timeout at most, and returns why it was no success.
func Once(ctx context.Context, p *corev1.Probe, t Target) error {
	timeout := time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return Handle(ctx, corev1.LifecycleHandler{Exec: p.Exec, HTTPGet: p.HTTPGet, TCPSocket: p.TCPSocket}, t)
}

// Handle does what a probe or a hook of a container's life says, and returns why it was no success.
func Handle(ctx context.Context, h corev1.LifecycleHandler, t Target) error {
	switch {
	case h.Exec != nil:
		return t.Exec(ctx, h.Exec.Command)
	case h.HTTPGet != nil:
		return get(ctx, h.HTTPGet, t)
	case h.TCPSocket != nil:
		port, err := number(h.TCPSocket.Port, t.Container)
		if err != nil {
			return err
		}
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(or(h.TCPSocket.Host, t.IP), port))
		if err != nil {
			return err
		}
		return c.Close()
	}
	return errors.New("probe: only exec, httpGet and tcpSocket are known")
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// number finds a port of a container.
func number(port intstr.IntOrString, c *corev1.Container) (string, error) {
	if port.Type == intstr.Int {
		return strconv.Itoa(port.IntValue()), nil
	}
	for _, p := range c.Ports {
		if p.Name == port.StrVal {
			return strconv.Itoa(int(p.ContainerPort)), nil
		}
	}
	return "", fmt.Errorf("probe: container %s has no port %q", c.Name, port.StrVal)
}

// get asks for a page. Certificates are not looked at, and redirects not followed, but taken for a success.
func get(ctx context.Context, a *corev1.HTTPGetAction, t Target) error {
	port, err := number(a.Port, t.Container)
	if err != nil {
		return err
	}
	path, query, _ := strings.Cut(a.Path, "?")
	u := url.URL{Scheme: strings.ToLower(or(string(a.Scheme), "http")), Host: net.JoinHostPort(or(a.Host, t.IP), port), Path: path, RawQuery: query}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", "kube-probe/listwatch")
	for _, h := range a.HTTPHeaders {
		if strings.EqualFold(h.Name, "Host") {
			r.Host = h.Value
		}
		r.Header.Add(h.Name, h.Value)
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	if answer.StatusCode < 200 || answer.StatusCode >= 400 {
		return fmt.Errorf("HTTP probe failed with statuscode: %d", answer.StatusCode)
	}
	return nil
}

// Count turns attempts into a result.
type Count struct {
	// OK is the result. What it is set to at first is the result until there have been enough attempts.
	OK   bool
	last bool
	run  int32
}

// Add counts an attempt and reports whether the result is another one now.
func (c *Count) Add(ok bool, p *corev1.Probe) (changed bool) {
	if ok != c.last {
		c.run = 0
	}
	c.last = ok
	c.run++
	enough := max(p.FailureThreshold, 1)
	if p.FailureThreshold == 0 {
		enough = 3
	}
	if ok {
		enough = max(p.SuccessThreshold, 1)
	}
	changed = ok != c.OK && c.run >= enough
	if changed {
		c.OK = ok
	}
	return changed
}

// Failed reports whether the last attempts were as many failures as make the result false, whatever it was before.
func (c *Count) Failed(p *corev1.Probe) bool {
	enough := p.FailureThreshold
	if enough == 0 {
		enough = 3
	}
	return !c.last && c.run >= enough
}

// Run calls attempt when the probe of a container that was started at a time is due, until it returns false or ctx is
// done.
func Run(ctx context.Context, c clock.Clock, p *corev1.Probe, started time.Time, attempt func() bool) {
	period := time.Duration(p.PeriodSeconds) * time.Second
	if period == 0 {
		period = 10 * time.Second
	}
	delay := time.Duration(p.InitialDelaySeconds)*time.Second - c.Since(started)
	for timing.Sleep(ctx, c, delay) == nil && attempt() {
		delay = period
	}
}

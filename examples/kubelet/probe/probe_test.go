package probe_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/seed3bce33ad/listwatch/examples/kubelet/probe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCount(t *testing.T) {
	for name, c := range map[string]struct {
		first              bool
		success, failure   int32
		attempts, expected string
	}{
		"defaults":         {false, 0, 0, "+--+---+", "+++++" + "+-+"},
		"slow to succeed":  {false, 3, 1, "++-+++-", "-----+-"},
		"alive from begin": {true, 1, 2, "-+--", "+++-"},
	} {
		count, p := probe.Count{OK: c.first}, &corev1.Probe{SuccessThreshold: c.success, FailureThreshold: c.failure}
		got, before := "", c.first
		for _, a := range c.attempts {
			changed := count.Add(a == '+', p)
			require.Equal(t, before != count.OK, changed, name)
			before = count.OK
			if got += "-"; count.OK {
				got = got[:len(got)-1] + "+"
			}
		}
		require.Equal(t, c.expected, got, name)
	}
	startup, p := probe.Count{}, &corev1.Probe{FailureThreshold: 2}
	require.False(t, startup.Add(false, p))
	require.False(t, startup.Failed(p))
	startup.Add(false, p)
	require.True(t, startup.Failed(p))
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var due []time.Duration
		ctx, cancel := context.WithCancel(t.Context())
		p := &corev1.Probe{InitialDelaySeconds: 7, PeriodSeconds: 3}
		probe.Run(ctx, clock.New(), p, begin.Add(-2*time.Second), func() bool {
			due = append(due, time.Since(begin))
			return len(due) < 3
		})
		require.Equal(t, []time.Duration{5 * time.Second, 8 * time.Second, 11 * time.Second}, due)
		var running sync.WaitGroup
		running.Go(func() {
			probe.Run(ctx, clock.New(), &corev1.Probe{InitialDelaySeconds: 1}, time.Now(), func() bool { return false })
			probe.Run(ctx, clock.New(), p, time.Now(), func() bool { panic("the context is done") })
		})
		synctest.Wait()
		time.Sleep(time.Second)
		cancel()
		running.Wait()
	})
}

func TestOnce(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/bad", http.StatusFound)
		case "/bad":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/hang":
			<-hang
		case "/asks":
			if r.Host != "web" || r.URL.RawQuery != "a=b" || r.Header.Get("X") != "y" {
				w.WriteHeader(http.StatusBadRequest)
			}
		}
	}))
	defer server.Close()
	defer close(hang)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	port, err := strconv.Atoi(u.Port())
	require.NoError(t, err)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := closed.Addr().(*net.TCPAddr).Port
	require.NoError(t, closed.Close())

	container := &corev1.Container{Name: "web", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: int32(port)}}}
	broken := errors.New("exit code 3")
	target := probe.Target{IP: u.Hostname(), Container: container, Exec: func(_ context.Context, command []string) error {
		if command[0] == "true" {
			return nil
		}
		return broken
	}}
	page := func(path string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http"),
			HTTPHeaders: []corev1.HTTPHeader{{Name: "Host", Value: "web"}, {Name: "X", Value: "y"}}}}
	}
	tcp := func(port intstr.IntOrString) corev1.ProbeHandler {
		return corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}
	}
	exec := func(command string) corev1.ProbeHandler {
		return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{command}}}
	}
	for name, c := range map[string]struct {
		handler corev1.ProbeHandler
		fault   string // "": none
	}{
		"page": {page("/"), ""}, "moved": {page("/moved"), ""}, "query and headers": {page("/asks?a=b"), ""},
		"bad": {page("/bad"), "statuscode: 503"}, "hang": {page("/hang"), "deadline exceeded"},
		"port": {tcp(intstr.FromInt(port)), ""}, "closed": {tcp(intstr.FromInt(nobody)), "refused"},
		"unknown port": {tcp(intstr.FromString("x")), `no port "x"`}, "command": {exec("true"), ""}, "failing command": {exec("false"), "exit code 3"},
		"nothing": {corev1.ProbeHandler{}, "only exec"},
	} {
		err := probe.Once(t.Context(), &corev1.Probe{ProbeHandler: c.handler, TimeoutSeconds: 1}, target)
		if c.fault == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.fault, name)
		}
	}
}

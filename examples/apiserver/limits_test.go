package apiserver_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// says takes a request for that of whom its header names: "root" is a master. It panics when it is told to.
type says struct{}

func (says) Authenticate(r *http.Request) (*auth.User, error) {
	switch name := r.Header.Get("Says"); name {
	case "panic":
		panic("as it was told")
	case "root":
		return &auth.User{Name: name, Groups: []string{auth.Masters}}, nil
	default:
		return &auth.User{Name: name}, nil
	}
}

// begun is a request that is being answered.
type begun struct {
	t      testing.TB
	answer chan answer
}

// begin sends a request whose answer does not come at once.
func (a *api) begin(method, path string, body io.Reader, header ...string) *begun {
	a.t.Helper()
	b := &begun{a.t, make(chan answer, 1)}
	ctx, cancel := context.WithCancel(a.t.Context())
	r, err := http.NewRequestWithContext(ctx, method, a.server.URL()+path, body)
	require.NoError(a.t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	group(a.t, func() {
		defer close(b.answer)
		response, err := a.client.Do(r)
		if err != nil {
			return
		}
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		if err == nil {
			b.answer <- answer{response.StatusCode, response.Header, string(data)}
		}
	})
	a.t.Cleanup(cancel)
	return b
}

// after moves a clock until the answer has come.
func (b *begun) after(c *clock.Mock, step time.Duration) answer {
	b.t.Helper()
	for {
		select {
		case got, ok := <-b.answer:
			require.True(b.t, ok, "there was no answer")
			return got
		default:
			c.Add(step)
		}
	}
}

// until reads the metrics until a line is there.
func (a *api) until(line string) {
	a.t.Helper()
	for {
		got := a.do("GET", "/metrics", "", "Says", "root")
		require.Equal(a.t, 200, got.code)
		if strings.Contains(got.body, "\n"+line+"\n") {
			return
		}
	}
}

const (
	// later is a version that is never reached.
	later   = "?resourceVersion=99999999"
	waiting = "apiserver_current_inflight_requests{request_kind="
)

func TestMaxInFlight(t *testing.T) {
	mock := clock.NewMock()
	noting := &notingClock{Clock: mock}
	a := newAPI(t, apiserver.Options{
		Clock: noting, CompactEvery: -1, Authenticator: says{}, Limits: apiserver.Limits{Mutating: 1, ReadOnly: 1},
	})
	refused := func(method, path, body string) {
		t.Helper()
		got := a.do(method, path, body, "Says", "bob")
		require.Equal(t, 429, got.code)
		require.Equal(t, recorded(t, "status-429-max-inflight.txt")+"\n", got.body)
		require.Equal(t, "1", got.header.Get("Retry-After"))
		require.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
	}
	reading := a.begin("GET", pods+later, nil, "Says", "bob")
	for len(noting.between(3*time.Second, 3*time.Second)) == 0 {
		runtime.Gosched() // until it waits for the version
	}
	refused("GET", pods, "")
	refused("GET", "/apis", "")
	require.Equal(t, 200, a.do("GET", pods, "", "Says", "root").code, "masters are not bounded")
	require.Equal(t, 200, a.do("GET", "/readyz", "", "Says", "bob").code, "who asks whether the server is well is told")
	require.Equal(t, 201, a.do("POST", configMaps, configMap("a", ""), "Says", "bob").code, "writes are counted apart")
	response, err := a.send(t.Context(), "GET", configMaps+"?watch=true", "", "Says", "bob")
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode, "watches are not counted")
	require.NoError(t, response.Body.Close())

	body, more := io.Pipe()
	writing := a.begin("POST", configMaps, body, "Says", "bob")
	a.until(waiting + `"mutating"} 1`)
	refused("POST", configMaps, configMap("b", ""))
	refused("DELETE", configMaps+"/a", "")
	_, err = io.WriteString(more, configMap("slow", ""))
	require.NoError(t, err)
	require.NoError(t, more.Close())
	require.Equal(t, 201, writing.after(mock, 0).code)
	require.Equal(t, 201, a.do("POST", configMaps, configMap("b", ""), "Says", "bob").code)

	require.Equal(t, 504, reading.after(mock, 3*time.Second).code)
	require.Equal(t, 200, a.do("GET", pods, "", "Says", "bob").code)
}

func TestRequestTimeout(t *testing.T) {
	for name, limit := range map[string]time.Duration{"": time.Minute, "&timeout=2m": time.Minute, "&timeout=30s": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			mock := clock.NewMock()
			began := mock.Now()
			a := newAPI(t, apiserver.Options{Clock: mock, CompactEvery: -1, FutureWait: time.Hour})
			request := a.begin("GET", pods+later+name, nil)
			got := request.after(mock, time.Second)
			require.Equal(t, 504, got.code)
			require.Equal(t, recorded(t, "status-504-timeout.txt"), strings.TrimSpace(got.body))
			require.GreaterOrEqual(t, mock.Since(began), limit)
		})
	}
}

// A client that does not send what it has begun is cut off, whatever the server's clock says.
func TestSlowBody(t *testing.T) {
	a := newAPI(t, apiserver.Options{Clock: clock.NewMock(), CompactEvery: -1, Limits: apiserver.Limits{RequestTimeout: 100 * time.Millisecond}})
	a.cutOff("POST " + configMaps + " HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
}

// cutOff sends the beginning of a request and blocks until the server ends the connection.
func (a *api) cutOff(beginning string) {
	a.t.Helper()
	c, err := (&net.Dialer{}).DialContext(a.t.Context(), "tcp", strings.TrimPrefix(a.server.URL(), "http://"))
	require.NoError(a.t, err)
	defer c.Close()
	_, err = io.WriteString(c, beginning)
	require.NoError(a.t, err)
	_, err = io.ReadAll(c)
	require.NoError(a.t, err)
}

func TestHeaderLimits(t *testing.T) {
	a := newAPI(t, apiserver.Options{Limits: apiserver.Limits{HeaderBytes: 4 << 10, HeaderTimeout: 100 * time.Millisecond}})
	require.Equal(t, 200, a.do("GET", pods, "", "X", strings.Repeat("x", 1<<10)).code)
	require.Equal(t, 431, a.do("GET", pods, "", "X", strings.Repeat("x", 20<<10)).code)
	a.cutOff("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
}

func TestLimitsAreChecked(t *testing.T) {
	for _, o := range []apiserver.Options{{Limits: apiserver.Limits{Mutating: -1}}, {Limits: apiserver.Limits{IdleTimeout: -1}}, {ShutdownDelay: -1}} {
		_, err := apiserver.Start(t.Context(), o)
		require.ErrorContains(t, err, "must not be negative")
	}
}

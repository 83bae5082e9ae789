package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// notingClock notes the timers that are set, and may make those of one duration fire at once.
type notingClock struct {
	clock.Clock
	atOnce time.Duration

	mu  sync.Mutex
	set []time.Duration // guarded by mu
}

func (c *notingClock) AfterFunc(d time.Duration, f func()) *clock.Timer {
	c.mu.Lock()
	c.set = append(c.set, d)
	c.mu.Unlock()
	if d == c.atOnce {
		d = 0
	}
	return c.Clock.AfterFunc(d, f)
}

// between returns the noted durations from least to most.
func (c *notingClock) between(least, most time.Duration) (noted []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.set {
		if d >= least && d <= most {
			noted = append(noted, d)
		}
	}
	return noted
}

// Scenario 119, first half.
func TestWatchTimeouts(t *testing.T) {
	mock := clock.NewMock()
	noting := &notingClock{Clock: mock}
	a := newAPI(t, apiserver.Options{Clock: noting, CompactEvery: -1})
	two := a.watch(configMaps + "?watch=true&resourceVersion=1&timeoutSeconds=2")
	var unlimited []*stream
	for _, query := range []string{"&timeoutSeconds=0", ""} {
		for range 5 {
			unlimited = append(unlimited, a.watch(configMaps+"?watch=true&resourceVersion=1"+query))
		}
	}
	timeouts := noting.between(30*time.Minute, time.Hour-1)
	require.Len(t, timeouts, len(unlimited))
	slices.Sort(timeouts)
	require.Greater(t, len(slices.Compact(timeouts)), 1, "they are spread")
	require.Empty(t, a.watch(configMaps+"?watch=true&resourceVersion=1&timeoutSeconds=-1").rest())
	mock.Add(1999 * time.Millisecond)
	made := a.must("POST", configMaps, configMap("a", "")).Metadata.ResourceVersion
	two.want("ADDED a " + made)
	mock.Add(time.Millisecond)
	require.Empty(t, two.rest(), "the end is a clean one")

	mock.Add(30*time.Minute - 3*time.Second)
	made2 := a.must("POST", configMaps, configMap("b", "")).Metadata.ResourceVersion
	for _, w := range unlimited {
		w.want("ADDED a "+made, "ADDED b "+made2)
	}
	mock.Add(30*time.Minute + 3*time.Second)
	for _, w := range unlimited {
		require.Empty(t, w.rest())
	}
}

func TestBookmarks(t *testing.T) {
	mock := clock.NewMock()
	a := newAPI(t, apiserver.Options{Clock: mock, CompactEvery: -1})
	start := a.must("GET", configMaps, "").Metadata.ResourceVersion
	with := a.watch(configMaps + "?watch=true&allowWatchBookmarks=true&timeoutSeconds=100&resourceVersion=" + start)
	without := a.watch(configMaps + "?watch=true&timeoutSeconds=100&resourceVersion=" + start)
	// It tells the position, although what changed is not of this collection.
	other := a.must("POST", widgets, widget("w", "")).Metadata.ResourceVersion
	mock.Add(time.Minute)
	with.want("BOOKMARK  " + other)
	made := a.must("POST", configMaps, configMap("a", "")).Metadata.ResourceVersion
	with.want("ADDED a " + made)
	without.want("ADDED a " + made)
	mock.Add(38 * time.Second)
	with.want("BOOKMARK  " + made)
	mock.Add(2 * time.Second)
	require.Empty(t, with.rest())
	require.Empty(t, without.rest())
}

// cutOff is a logger that tells when a watch was cut off.
type cutOff struct {
	slog.Handler
	told chan struct{}
}

func (c cutOff) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "watch cut off" {
		c.told <- struct{}{}
	}
	return nil
}

func (c cutOff) Enabled(context.Context, slog.Level) bool { return true }

// Scenario 119, second half.
func TestSlowWatchIsCutOff(t *testing.T) {
	told := make(chan struct{}, 1)
	a := newAPI(t, apiserver.Options{
		SlowWatch: 200 * time.Millisecond, Logger: slog.New(cutOff{slog.DiscardHandler, told}),
	})
	start := a.must("POST", configMaps, configMap("a", "")).Metadata.ResourceVersion
	query := configMaps + "?watch=true&resourceVersion="
	// What the operating system holds for a reader is kept small.
	small := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if tcp, ok := c.(*net.TCPConn); ok {
			err = errors.Join(err, tcp.SetReadBuffer(256<<10))
		}
		return c, err
	}}
	defer small.CloseIdleConnections()
	slow := (&api{t: t, server: a.server, client: &http.Client{Transport: small}}).watch(query + start)
	quick := a.watch(query + start)

	const writes = 16
	padding := strings.Repeat("x", 500<<10)
	last := start
	for i := range writes {
		last = a.must("PUT", configMaps+"/a", fmt.Sprintf(`{"metadata":{"name":"a"},"data":{"i":"%d","padding":%q}}`, i, padding)).Metadata.ResourceVersion
		quick.want("MODIFIED a " + last)
	}
	<-told
	seen := start
	for {
		e, err := slow.next()
		if err != nil {
			require.NotErrorIs(t, err, io.EOF, "the end is not a clean one")
			break
		}
		require.Equal(t, older(t, seen, -1), e.Object.Metadata.ResourceVersion)
		seen = e.Object.Metadata.ResourceVersion
	}
	require.NotEqual(t, last, seen)
	// It goes on where it was, and has lost nothing. On a busy machine it may be slow again.
	for again := a.watch(query + seen); seen != last; {
		e, err := again.next()
		if err != nil {
			again = a.watch(query + seen)
			continue
		}
		require.Equal(t, older(t, seen, -1), e.Object.Metadata.ResourceVersion)
		seen = e.Object.Metadata.ResourceVersion
	}
}

func TestCutConnections(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	start := a.must("POST", configMaps, configMap("a", "")).Metadata.ResourceVersion
	w := a.watch(configMaps + "?watch=true&resourceVersion=" + start)
	a.cutConnections()
	_, err := w.next()
	require.Error(t, err)
	require.NotErrorIs(t, err, io.EOF, "the end is not a clean one")
	next := a.must("POST", configMaps, configMap("b", "")).Metadata.ResourceVersion
	a.watch(configMaps + "?watch=true&resourceVersion=" + start).want("ADDED b " + next)
}

func TestCloseEndsWatchesCleanly(t *testing.T) {
	server, err := apiserver.Start(t.Context(), apiserver.Options{})
	require.NoError(t, err)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	a := &api{t: t, server: server, client: &http.Client{Transport: transport}}
	w := a.watch(configMaps + "?watch=true&resourceVersion=1")
	require.NoError(t, server.Close())
	require.Empty(t, w.rest())
	_, err = a.send(t.Context(), "GET", "/healthz", "")
	require.Error(t, err)
	require.NoError(t, server.Close())
}

func TestServerCompactsByItself(t *testing.T) {
	mock := clock.NewMock()
	a := newAPI(t, apiserver.Options{Clock: mock})
	exact := func(version string) int {
		return a.do("GET", configMaps+"?resourceVersionMatch=Exact&resourceVersion="+version, "").code
	}
	old := a.must("POST", configMaps, configMap("a", "")).Metadata.ResourceVersion
	now := a.must("POST", configMaps, configMap("b", "")).Metadata.ResourceVersion
	require.Equal(t, 200, exact(old))
	// A tick is not over when Add returns: wait for what it leads to.
	for exact(old) != 410 {
		mock.Add(5 * time.Minute)
	}
	require.Equal(t, 200, exact(now))
}

func TestStartFails(t *testing.T) {
	_, err := apiserver.Start(t.Context(), apiserver.Options{Address: "no", CompactEvery: -1})
	require.ErrorContains(t, err, "apiserver: start:")
	_, err = apiserver.Start(t.Context(), apiserver.Options{SlowWatch: -1})
	require.ErrorContains(t, err, "must not be negative")
	_, err = apiserver.Start(t.Context(), apiserver.Options{Dir: "/dev/null/no"})
	require.ErrorContains(t, err, "etcd")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = apiserver.Start(ctx, apiserver.Options{})
	require.ErrorIs(t, err, context.Canceled)
}

package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/wire"
	"github.com/seed3bce33ad/listwatch/internal/worker"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// echo is a server that says back what it hears, behind a proxy.
type echo struct {
	*wire.Proxy
	front *wire.Endpoint
	back  *wire.Endpoint
	group worker.Group
}

func newEcho(t *testing.T, front, back *wire.Endpoint) *echo {
	e := &echo{Proxy: wire.NewProxy(front, back, wire.ProxyOptions{}), front: front, back: back}
	e.group.Go(func() {
		for {
			c, err := back.Accept()
			if err != nil {
				return
			}
			e.group.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			})
		}
	})
	return e
}

func (e *echo) close(t *testing.T) {
	t.Helper()
	e.Close()
	require.NoError(t, e.back.Close())
	e.group.Wait()
	require.Zero(t, e.Links())
}

func (e *echo) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := e.front.Dial(t.Context())
	require.NoError(t, err)
	return c
}

// say sends text and reads as much, and returns what came.
func say(c net.Conn, text []byte) ([]byte, error) {
	var group worker.Group
	group.Go(func() { _, _ = c.Write(text) })
	defer group.Wait()
	heard := make([]byte, len(text))
	n, err := io.ReadFull(c, heard)
	if err != nil {
		_ = c.Close() // so that the writer ends
	}
	return heard[:n], err
}

func loopback(t *testing.T) *wire.Endpoint {
	e, err := wire.Loopback()
	require.NoError(t, err)
	return e
}

func TestProxyPasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(seedOf(t), 1))
	text := make([]byte, 100_000)
	for i := range text {
		text[i] = byte(rng.Uint32())
	}
	for name, e := range map[string]*echo{
		"memory": newEcho(t, wire.Memory(), wire.Memory()), "loopback": newEcho(t, loopback(t), loopback(t)),
		"from memory to loopback": newEcho(t, wire.Memory(), loopback(t)),
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				c := e.dial(t)
				heard, err := say(c, text)
				require.NoError(t, err)
				require.True(t, bytes.Equal(text, heard))
				require.NoError(t, c.Close())
			}
			c := e.dial(t)
			e.close(t)
			_, err := say(c, []byte("x"))
			require.Error(t, err, "closed with the proxy")
			_, err = e.front.Dial(t.Context())
			require.Error(t, err)
		})
	}
}

func inBubble(t *testing.T, test func(t *testing.T, e *echo)) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho(t, wire.Memory(), wire.Memory())
		defer e.close(t)
		test(t, e)
	})
}

func TestBlackHole(t *testing.T) {
	inBubble(t, func(t *testing.T, e *echo) {
		old := e.dial(t)
		defer old.Close()
		hello := []byte("hello")
		_, err := say(old, hello)
		require.NoError(t, err)
		inject(t, e, "black-hole for=1m")
		fresh := e.dial(t)
		defer fresh.Close()
		_, err = say(fresh, hello)
		require.NoError(t, err, "new ones are fine")
		start := time.Now()
		heard, err := say(old, hello)
		require.NoError(t, err)
		require.Equal(t, hello, heard, "what waited comes")
		require.Equal(t, time.Minute, time.Since(start))

		inject(t, e, "black-hole n=1", "black-hole n=1 for=10s")
		newest := e.dial(t)
		require.NoError(t, newest.SetDeadline(time.Now().Add(time.Hour)))
		_, err = say(newest, hello)
		require.ErrorContains(t, err, "timeout")
		require.NoError(t, old.SetDeadline(time.Now().Add(time.Hour)))
		time.AfterFunc(time.Minute, e.Heal)
		start = time.Now()
		_, err = say(old, hello)
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(start))
		inject(t, e, "black-hole n=1")
		_ = e.dial(t) // Close ends it although nothing passes
		_, err = old.Write(hello)
		require.NoError(t, err)
	})
}

func TestReset(t *testing.T) {
	inBubble(t, func(t *testing.T, e *echo) {
		a, b := e.dial(t), e.dial(t)
		synctest.Wait()
		inject(t, e, "reset n=3")
		heard, err := say(a, []byte("hello"))
		require.Error(t, err)
		require.Equal(t, "hel", string(heard))
		e.Heal()
		heard, err = say(b, []byte("hello"))
		require.NoError(t, err)
		require.Equal(t, "hello", string(heard))
		inject(t, e, "reset")
		_, err = b.Read(make([]byte, 1))
		require.Error(t, err)
		synctest.Wait()
		require.Zero(t, e.Links())
	})
}

func TestRefuse(t *testing.T) {
	inBubble(t, func(t *testing.T, e *echo) {
		old := e.dial(t)
		synctest.Wait()
		inject(t, e, "refuse for=10s", "throttle for=1s n=100000")
		_, err := say(old, []byte("x"))
		require.Error(t, err)
		_, err = say(e.dial(t), []byte("x"))
		require.Error(t, err)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		c := e.dial(t)
		defer c.Close()
		_, err = say(c, []byte("x"))
		require.NoError(t, err)
	})
}

func TestRemote(t *testing.T) {
	back := loopback(t)
	e := newEcho(t, wire.Memory(), back)
	p := wire.NewProxy(wire.Memory(), wire.Remote(back.Addr().String()), wire.ProxyOptions{})
	c, err := wire.Remote(back.Addr().String()).Dial(t.Context())
	require.NoError(t, err)
	_, err = say(c, []byte("x"))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = wire.Remote("x").Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	p.Close()
	e.close(t)
}

func TestThrottle(t *testing.T) {
	inBubble(t, func(t *testing.T, e *echo) {
		c := e.dial(t)
		defer c.Close()
		inject(t, e, "throttle n=100 for=10s", "throttle n=1000")
		start := time.Now()
		_, err := say(c, make([]byte, 1000))
		require.NoError(t, err)
		require.InDelta(t, 10, time.Since(start).Seconds(), 0.2)
		start = time.Now()
		_, err = say(c, make([]byte, 1000))
		require.NoError(t, err)
		require.InDelta(t, 1, time.Since(start).Seconds(), 0.2)
		e.Heal()
		time.Sleep(time.Second)
		start = time.Now()
		_, err = say(c, make([]byte, 1000))
		require.NoError(t, err)
		require.Zero(t, time.Since(start))
		inject(t, e, "throttle n=1")
		_, err = c.Write(make([]byte, 100)) // Close ends it although it goes on for long
		require.NoError(t, err)
		time.Sleep(time.Second)
	})
}

func TestProxyWithoutServer(t *testing.T) {
	back := wire.Memory()
	front := wire.Memory()
	p := wire.NewProxy(front, back, wire.ProxyOptions{})
	require.NoError(t, back.Close())
	c, err := front.Dial(t.Context())
	require.NoError(t, err)
	_, err = c.Read(make([]byte, 1))
	require.Error(t, err)
	p.Close()
	p.Close()
	own := errors.New("own")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(own)
	_, err = wire.Memory().Dial(ctx)
	require.Equal(t, own, err)
	require.Equal(t, "memory memory", fmt.Sprint(front.Addr().Network(), " ", front.Addr()))
}

// Close waits for requests that run, and they end.
func TestCloseWaits(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		e := loopback(t)
		ended := false
		started := make(chan struct{})
		host := wire.Serve(e, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(started)
			<-r.Context().Done()
			ended = true
		}))
		client := e.Client(http2)
		var group worker.Group
		group.Go(func() {
			response, err := client.Get("http://fake/")
			if err == nil {
				_ = response.Body.Close()
			}
		})
		<-started
		host.Close()
		require.True(t, ended)
		group.Wait()
		client.CloseIdleConnections()
	}
}

// An HTTP/2 connection in a black hole is found out by a ping, not by waiting for the end.
func TestPingFindsABlackHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(fakes.Options[object]{}, wire.Options[object]{}, true)
		defer r.close()
		s := r.source(t, rest.Options{})
		ended := make(chan error, 1)
		var group worker.Group
		group.Go(func() {
			ended <- s.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "1"}, func(...listwatch.Event[object]) error { return nil })
		})
		synctest.Wait()
		inject(t, r.proxy, "black-hole")
		start := time.Now()
		require.ErrorIs(t, <-ended, listwatch.ErrUnavailable)
		require.Equal(t, 45*time.Second, time.Since(start))
		_, _, err := list(t.Context(), s, listwatch.ListOptions{})
		require.NoError(t, err, "by a new connection")
		group.Wait()
	})
}

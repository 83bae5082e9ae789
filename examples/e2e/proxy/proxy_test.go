package proxy_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/e2e/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that sends back what it is sent.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { defer c.Close(); _, _ = io.Copy(c, c) })
		}
	})
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		all.Wait()
	})
	return l.Addr().String()
}

func listen(t *testing.T) *proxy.Proxy {
	p, err := proxy.Listen(echo(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func dial(t *testing.T, p *proxy.Proxy) net.Conn {
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// say sends a byte and returns what became of the answer. Waiting for one that never comes takes
// the time that is given.
func say(t *testing.T, c net.Conn, patience time.Duration) error {
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

func TestPassesOn(t *testing.T) {
	t.Parallel()
	p := listen(t)
	c := dial(t, p)
	require.NoError(t, say(t, c, time.Minute))
	require.NoError(t, say(t, c, time.Minute))
	require.EqualValues(t, 1, p.Accepted())
}

func TestCutEndsConnections(t *testing.T) {
	t.Parallel()
	p := listen(t)
	c := dial(t, p)
	require.NoError(t, say(t, c, time.Minute))
	p.Cut()
	_, err := c.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, net.ErrClosed)
	require.NoError(t, say(t, dial(t, p), time.Minute))
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	p := listen(t)
	p.Refuse(true)
	require.Error(t, say(t, dial(t, p), time.Minute))
	require.Zero(t, p.Accepted())
	p.Refuse(false)
	require.NoError(t, say(t, dial(t, p), time.Minute))
}

func TestHoleLosesEverythingAndStaysOpen(t *testing.T) {
	t.Parallel()
	p := listen(t)
	c := dial(t, p)
	require.NoError(t, say(t, c, time.Minute))
	p.Hole()
	var timeout net.Error
	require.ErrorAs(t, say(t, c, 100*time.Millisecond), &timeout)
	require.True(t, timeout.Timeout(), "the connection must stay open")
	require.NoError(t, say(t, dial(t, p), time.Minute), "new ones are passed on")
}

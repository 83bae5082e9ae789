package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// window is how many bytes may be on their way, as in the buffers of sockets. Without any, one
// who writes under a lock would stop everybody as soon as the other end does not read.
const window = 256 << 10

// half is one direction of a connection in memory. It is waited for by a condition, which a
// bubble of testing/synctest takes for rest.
type half struct {
	mu      sync.Mutex
	changed sync.Cond // of all below, which mu guards
	data    []byte
	// end is what the reader gets behind the data once the writer has closed, nil before.
	end error
	// deaf: the reader has closed.
	deaf bool
	// read and write are the deadlines.
	read, write deadline
}

// deadline is a time after which waiting fails.
type deadline struct {
	at   time.Time
	stop func()
}

// passed reports whether it is too late.
func (d deadline) passed() bool { return !d.at.IsZero() && timing.Or(nil).Until(d.at) <= 0 }

// set changes one of the deadlines of h.
func (h *half) set(d *deadline, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.stop != nil {
		d.stop()
	}
	*d = deadline{at: at}
	if left := timing.Or(nil).Until(at); !at.IsZero() && left > 0 {
		d.stop = timing.AfterFunc(timing.Or(nil), left, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.changed.Broadcast()
		})
	}
	h.changed.Broadcast()
}

// conn is one end of a connection in memory.
type conn struct {
	in, out *half
}

// pipe returns the two ends of a connection in memory.
func pipe() (a, b *conn) {
	up, down := new(half), new(half)
	up.changed.L, down.changed.L = &up.mu, &down.mu
	return &conn{in: down, out: up}, &conn{in: up, out: down}
}

// Read waits for something to read.
func (c *conn) Read(p []byte) (int, error) {
	h := c.in
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.deaf:
			return 0, io.ErrClosedPipe
		case h.read.passed():
			return 0, os.ErrDeadlineExceeded
		case len(h.data) > 0:
			n := copy(p, h.data)
			h.data = h.data[n:]
			h.changed.Broadcast()
			return n, nil
		case h.end != nil:
			return 0, h.end
		}
		h.changed.Wait()
	}
}

// Write waits until everything is on its way.
func (c *conn) Write(p []byte) (n int, err error) {
	h := c.out
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.end != nil:
			return n, io.ErrClosedPipe
		case h.deaf:
			return n, syscall.EPIPE
		case h.write.passed():
			return n, os.ErrDeadlineExceeded
		case n == len(p):
			return n, nil
		}
		if room := min(window-len(h.data), len(p)-n); room > 0 {
			h.data = append(h.data, p[n:n+room]...)
			n += room
			h.changed.Broadcast()
			continue
		}
		h.changed.Wait()
	}
}

// Close ends both directions. What is on its way arrives.
func (c *conn) Close() error { return c.close(io.EOF) }

func (c *conn) close(end error) error {
	c.out.mu.Lock()
	if c.out.end == nil {
		c.out.end = end
	}
	c.out.changed.Broadcast()
	c.out.mu.Unlock()
	c.in.mu.Lock()
	c.in.deaf, c.in.data = true, nil
	c.in.changed.Broadcast()
	c.in.mu.Unlock()
	return c.SetDeadline(time.Time{}) // no timer stays
}

// reset closes a connection without a proper end; what is on its way may be lost.
func reset(c net.Conn) {
	switch c := c.(type) {
	case *net.TCPConn:
		_ = c.SetLinger(0)
		_ = c.Close()
	case *conn:
		_ = c.close(syscall.ECONNRESET)
	default:
		_ = c.Close()
	}
}

// LocalAddr names the network.
func (*conn) LocalAddr() net.Addr { return address{} }

// RemoteAddr names the network.
func (*conn) RemoteAddr() net.Addr { return address{} }

// SetDeadline sets both deadlines.
func (c *conn) SetDeadline(at time.Time) error {
	return errors.Join(c.SetReadDeadline(at), c.SetWriteDeadline(at))
}

// SetReadDeadline sets the time after which Read fails.
func (c *conn) SetReadDeadline(at time.Time) error {
	c.in.set(&c.in.read, at)
	return nil
}

// SetWriteDeadline sets the time after which Write fails.
func (c *conn) SetWriteDeadline(at time.Time) error {
	c.out.set(&c.out.write, at)
	return nil
}

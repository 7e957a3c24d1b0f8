// Package link is a connection in memory whose two ends may be in different synctest bubbles, or in
// none.
package link

import (
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// The addresses of the two ends.
var (
	ServerAddress net.Addr = &net.UnixAddr{Name: "fake-server", Net: "fake"}
	ClientAddress net.Addr = &net.UnixAddr{Name: "fake-client", Net: "fake"}
)

// maxUnread is how many unread bytes make Write wait, as a full buffer of a socket does.
const maxUnread = 64 << 10

// New returns the two ends of a connection. They wait only on a sync.Cond. If a goroutine of a
// synctest bubble waits on it, virtual time passes, wherever the connection was made. The ends of
// net.Pipe wait on channels, which belong to one bubble.
func New() (client, server *Conn) {
	l := &link{wake: sync.NewCond(new(sync.Mutex))}
	client, server = &Conn{link: l, local: ClientAddress}, &Conn{link: l, local: ServerAddress}
	client.peer, server.peer = server, client
	return client, server
}

// link is what both ends of a connection share.
type link struct {
	wake  *sync.Cond // is broadcast at each change; its lock guards the link and its ends
	reset bool
}

// change calls f, which changes the link or an end, and wakes both ends.
func (l *link) change(f func()) {
	l.wake.L.Lock()
	defer l.wake.L.Unlock()
	f()
	l.wake.Broadcast()
}

// Conn is one end of a connection. It has no deadline for Write, because net/http sets none here.
type Conn struct {
	link     *link
	peer     *Conn
	local    net.Addr
	unread   []byte
	closed   bool
	deadline time.Time   // of Read
	timer    *time.Timer // wakes Read at the deadline
}

// Read waits for bytes from the other end.
func (c *Conn) Read(b []byte) (n int, err error) {
	c.link.wake.L.Lock()
	defer c.link.wake.L.Unlock()
	for {
		switch {
		case c.closed:
			return 0, net.ErrClosed
		case c.link.reset:
			return 0, resetError("read")
		case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
			return 0, os.ErrDeadlineExceeded
		case len(c.unread) > 0:
			n = copy(b, c.unread)
			c.unread = c.unread[n:]
			c.link.wake.Broadcast()
			return n, nil
		case c.peer.closed:
			return 0, io.EOF
		}
		c.link.wake.Wait()
	}
}

// Write hands bytes to the other end. It waits while the other end has too many unread bytes.
func (c *Conn) Write(b []byte) (int, error) {
	c.link.wake.L.Lock()
	defer c.link.wake.L.Unlock()
	for {
		switch {
		case c.closed:
			return 0, net.ErrClosed
		case c.link.reset || c.peer.closed:
			return 0, resetError("write")
		case len(c.peer.unread) < maxUnread:
			c.peer.unread = append(c.peer.unread, b...)
			c.link.wake.Broadcast()
			return len(b), nil
		}
		c.link.wake.Wait()
	}
}

// Close ends both directions. The other end still reads what was sent to it, and then EOF.
func (c *Conn) Close() error {
	_ = c.SetReadDeadline(time.Time{}) // stops the timer
	c.link.change(func() { c.closed = true })
	return nil
}

// SetLinger makes both ends fail at once, and unread bytes are lost. A TCPConn does that only at
// Close, after SetLinger(0).
func (c *Conn) SetLinger(int) error {
	c.link.change(func() { c.link.reset = true })
	return nil
}

func (c *Conn) LocalAddr() net.Addr              { return c.local }
func (c *Conn) RemoteAddr() net.Addr             { return c.peer.local }
func (c *Conn) SetDeadline(t time.Time) error    { return c.SetReadDeadline(t) }
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline makes Read fail from t on. The zero time removes the deadline.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.link.change(func() {
		if c.timer != nil {
			c.timer.Stop()
		}
		c.deadline = t
		if !t.IsZero() {
			c.timer = time.AfterFunc(time.Until(t), func() { c.link.change(func() {}) })
		}
	})
	return nil
}

func resetError(op string) error {
	err := os.NewSyscallError(op, syscall.ECONNRESET)
	return &net.OpError{Op: op, Net: "fake", Source: ClientAddress, Addr: ServerAddress, Err: err}
}

// Serve serves one end of a connection. The server never accepts another connection. So no
// goroutine waits for one, and the WaitGroup of the server belongs to one synctest bubble only.
func Serve(c net.Conn, hs *http.Server) {
	_ = hs.Serve(&listener{c}) // Serve returns once a goroutine has the connection
}

// listener accepts one connection, which it does not close.
type listener struct{ conn net.Conn }

func (o *listener) Accept() (net.Conn, error) {
	conn := o.conn
	o.conn = nil
	if conn == nil {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (o *listener) Close() error   { return nil }
func (o *listener) Addr() net.Addr { return ServerAddress }

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

// maxPipe bounds the bytes on their way in one direction of a link, as a socket buffer does.
const maxPipe = 64 << 10

// Link is a connection in memory. Its ends wait only on a sync.Cond: a goroutine of a synctest
// bubble that waits there counts as blocked, wherever the link was made, so that virtual time
// passes while a connection is idle. Those of net.Pipe wait on channels, which belong to one
// bubble. Once Go 1.26 is out of support, the server in memory of net/http/httptest can take the
// place of this file.
type Link struct {
	// Client and Server are its ends.
	Client, Server *Conn

	wake   *sync.Cond // at every change; its L guards the link and its ends
	broken bool       // the link was reset
	closed func(*Link)
}

// New returns a connection whose two ends are open. closed is called once, with the connection,
// when both are closed.
func New(closed func(*Link)) *Link {
	l := &Link{wake: sync.NewCond(new(sync.Mutex)), closed: closed}
	l.Client = &Conn{link: l, local: ClientAddress}
	l.Server = &Conn{link: l, local: ServerAddress, peer: l.Client}
	l.Client.peer = l.Server
	return l
}

// Serve serves one end of a link. The server accepts no other connection in its life, so that no
// goroutine waits for one, and its WaitGroup belongs to one synctest bubble only.
func Serve(c net.Conn, hs *http.Server) {
	_ = hs.Serve(&listener{c}) // it returns once a goroutine has the connection
}

// listener accepts one connection.
type listener struct{ conn net.Conn }

func (o *listener) Accept() (net.Conn, error) {
	conn := o.conn
	if o.conn = nil; conn == nil {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Close has nothing to do: the connection belongs to the server that accepted it.
func (o *listener) Close() error   { return nil }
func (o *listener) Addr() net.Addr { return ServerAddress }

// change calls f, which changes the link, and wakes both ends.
func (l *Link) change(f func()) {
	l.wake.L.Lock()
	defer l.wake.L.Unlock()
	f()
	l.wake.Broadcast()
}

// Reset cuts the connection in both directions: what is on its way is lost.
func (l *Link) Reset() { l.change(func() { l.broken = true }) }

// Conn is one end of a link.
type Conn struct {
	link     *Link
	peer     *Conn
	local    net.Addr
	received []byte // bytes that arrived and are not read yet
	closed   bool
	deadline time.Time   // of Read
	timer    *time.Timer // wakes Read at the deadline
}

// SetLinger resets the link at once, whatever its argument. After net.TCPConn.SetLinger(0), Close
// would do that.
func (c *Conn) SetLinger(int) error {
	c.link.Reset()
	return nil
}

// Read waits for bytes from the other end.
func (c *Conn) Read(b []byte) (int, error) {
	c.link.wake.L.Lock()
	defer c.link.wake.L.Unlock()
	for {
		switch {
		case c.closed:
			return 0, net.ErrClosed
		case c.link.broken:
			return 0, wasReset("read")
		case c.expired():
			return 0, os.ErrDeadlineExceeded
		case len(c.received) > 0:
			n := copy(b, c.received)
			c.received = c.received[n:]
			c.link.wake.Broadcast()
			return n, nil
		case c.peer.closed:
			return 0, io.EOF
		}
		c.link.wake.Wait()
	}
}

// Write hands bytes to the other end, and waits while too many are on their way.
func (c *Conn) Write(b []byte) (done int, err error) {
	c.link.wake.L.Lock()
	defer c.link.wake.L.Unlock()
	for {
		switch {
		case c.closed:
			return done, net.ErrClosed
		case c.link.broken || c.peer.closed:
			return done, wasReset("write")
		}
		n := min(len(b)-done, maxPipe-len(c.peer.received))
		c.peer.received = append(c.peer.received, b[done:done+n]...)
		done += n
		c.link.wake.Broadcast()
		if done == len(b) {
			return done, nil
		}
		c.link.wake.Wait()
	}
}

// Close ends both directions: the other end reads what was sent and then EOF, and what it writes is
// lost.
func (c *Conn) Close() (err error) {
	last := false
	c.link.change(func() {
		if c.closed {
			err = net.ErrClosed
			return
		}
		c.closed, last = true, c.peer.closed
		c.setDeadline(time.Time{})
	})
	if last {
		c.link.closed(c.link)
	}
	return err
}

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address of the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.peer.local }

// SetDeadline sets the deadline of Read.
func (c *Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline does nothing: the servers and clients of net/http set none here.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline makes Read fail from t on. The zero time lifts the deadline.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.link.change(func() { c.setDeadline(t) })
	return nil
}

func (c *Conn) setDeadline(t time.Time) {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.deadline = t
	if !t.IsZero() && !c.closed && !c.expired() {
		c.timer = time.AfterFunc(time.Until(t), func() { c.link.change(func() {}) })
	}
}

// expired asks the clock, because the timer may not have fired yet.
func (c *Conn) expired() bool { return !c.deadline.IsZero() && time.Until(c.deadline) <= 0 }

// The addresses of the two ends.
var (
	ServerAddress net.Addr = &net.UnixAddr{Name: "fake-server", Net: "fake"}
	ClientAddress net.Addr = &net.UnixAddr{Name: "fake-client", Net: "fake"}
)

// wasReset returns the error of an operation on a connection that was reset.
func wasReset(op string) error {
	return &net.OpError{
		Op: op, Net: "fake", Source: ClientAddress, Addr: ServerAddress,
		Err: os.NewSyscallError(op, syscall.ECONNRESET),
	}
}

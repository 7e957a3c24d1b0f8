// Package link is a connection in memory whose two ends may be in different synctest bubbles, or in
// none.
package link

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// maxPipe bounds the bytes on their way in one direction of a link, as a socket buffer does.
const maxPipe = 64 << 10

// Link is a connection in memory. It waits on sync.Cond alone: a goroutine of a synctest bubble
// that waits there counts as blocked wherever the link was made, so that virtual time passes while
// a connection is idle. The channels of net.Pipe belong to one bubble. Once Go 1.26 is out of
// support, the server in memory of net/http/httptest can take the place of this file.
type Link struct {
	// Client and Server are its ends.
	Client, Server *Conn

	open   atomic.Int32 // ends
	closed func(*Link)  // called once, when both ends are closed
}

// New returns a connection that both ends have open. closed is called once, with the connection,
// when both are closed.
func New(closed func(*Link)) *Link {
	l := &Link{closed: closed}
	l.open.Store(2)
	up, down := newPipe(), newPipe()
	l.Client = &Conn{link: l, in: down, out: up, local: ClientAddress, remote: ServerAddress}
	l.Server = &Conn{link: l, in: up, out: down, local: ServerAddress, remote: ClientAddress}
	return l
}

// Reset cuts the connection in both directions: what is on its way is lost.
func (l *Link) Reset() {
	for _, p := range []*pipe{l.Client.in, l.Client.out} {
		p.change(func() { p.broken, p.buf = true, nil })
	}
}

// Conn is one end of a link.
type Conn struct {
	link          *Link
	in, out       *pipe
	local, remote net.Addr
	close         sync.Once
}

// SetLinger resets the link, as Close does after net.TCPConn.SetLinger(0).
func (c *Conn) SetLinger(int) error {
	c.link.Reset()
	return nil
}

// Read waits for bytes from the other end.
func (c *Conn) Read(p []byte) (int, error) { return c.in.read(p) }

// Write hands bytes to the other end, and waits while too many are on their way.
func (c *Conn) Write(p []byte) (int, error) { return c.out.write(p) }

// Close ends both directions: the other end reads what was sent and then EOF, and what it writes is
// lost.
func (c *Conn) Close() error {
	err := net.ErrClosed
	c.close.Do(func() {
		err = nil
		c.in.change(c.in.reader.close)
		c.out.change(c.out.writer.close)
		if c.link.open.Add(-1) == 0 {
			c.link.closed(c.link)
		}
	})
	return err
}

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address of the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline makes Read fail from t on. The zero time lifts the deadline.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.change(func() { c.in.reader.setDeadline(t, c.in) })
	return nil
}

// SetWriteDeadline does the same for Write.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.change(func() { c.out.writer.setDeadline(t, c.out) })
	return nil
}

// pipe is one direction of a link.
type pipe struct {
	wake   *sync.Cond // at every change; its L guards the rest
	buf    []byte
	reader side
	writer side
	broken bool // by a reset
}

// side is the state of one end of a pipe.
type side struct {
	closed   bool
	deadline time.Time
	timer    *time.Timer // wakes the waiting end at the deadline
}

func newPipe() *pipe { return &pipe{wake: sync.NewCond(new(sync.Mutex))} }

func (p *pipe) read(b []byte) (int, error) {
	p.wake.L.Lock()
	defer p.wake.L.Unlock()
	for {
		switch {
		case p.reader.closed:
			return 0, net.ErrClosed
		case p.broken:
			return 0, WasReset("read")
		case p.reader.expired():
			return 0, os.ErrDeadlineExceeded
		case len(p.buf) > 0:
			n := copy(b, p.buf)
			p.buf = p.buf[n:]
			p.wake.Broadcast()
			return n, nil
		case p.writer.closed:
			return 0, io.EOF
		}
		p.wake.Wait()
	}
}

func (p *pipe) write(b []byte) (int, error) {
	p.wake.L.Lock()
	defer p.wake.L.Unlock()
	done := 0
	for {
		switch {
		case p.writer.closed:
			return done, net.ErrClosed
		case p.broken || p.reader.closed:
			return done, WasReset("write")
		case p.writer.expired():
			return done, os.ErrDeadlineExceeded
		}
		n := min(len(b)-done, maxPipe-len(p.buf))
		p.buf = append(p.buf, b[done:done+n]...)
		done += n
		p.wake.Broadcast()
		if done == len(b) {
			return done, nil
		}
		p.wake.Wait()
	}
}

// change calls f, which changes the pipe, and wakes both ends.
func (p *pipe) change(f func()) {
	p.wake.L.Lock()
	defer p.wake.L.Unlock()
	f()
	p.wake.Broadcast()
}

// expired asks the clock rather than the timer, which may be about to fire.
func (s *side) expired() bool { return !s.deadline.IsZero() && time.Until(s.deadline) <= 0 }

func (s *side) close() {
	s.closed = true
	s.setDeadline(time.Time{}, nil)
}

func (s *side) setDeadline(t time.Time, p *pipe) {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.deadline = t
	if !t.IsZero() && !s.closed && !s.expired() {
		s.timer = time.AfterFunc(time.Until(t), func() { p.change(func() {}) })
	}
}

// The addresses of the two ends.
var (
	ServerAddress net.Addr = &net.UnixAddr{Name: "fake-server", Net: "fake"}
	ClientAddress net.Addr = &net.UnixAddr{Name: "fake-client", Net: "fake"}
)

// WasReset returns the error of an operation on a connection that was reset.
func WasReset(op string) error {
	return &net.OpError{
		Op: op, Net: "fake", Source: ClientAddress, Addr: ServerAddress,
		Err: os.NewSyscallError(op, syscall.ECONNRESET),
	}
}

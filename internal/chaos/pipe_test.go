package chaos

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipeListener accepts connections in memory.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	up, down := newPipe(), newPipe()
	select {
	case l.conns <- &pipeEnd{in: up, out: down}:
		return &pipeEnd{in: down, out: up}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Accept waits for the next connection.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close makes Accept and dial fail.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns an address that cannot be dialled.
func (l *pipeListener) Addr() net.Addr { return pipeAddr }

// pipe is one direction of a connection. Its buffer is unlimited, so that a write never waits.
// net.Pipe has no buffer: if both ends close a TLS connection at once, they wait for each other.
type pipe struct {
	mu       sync.Mutex
	change   *sync.Cond
	buf      bytes.Buffer
	ended    bool // closed by its writer
	left     bool // closed by its reader
	deadline time.Time
}

func newPipe() *pipe {
	p := new(pipe)
	p.change = sync.NewCond(&p.mu)
	return p
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.left:
			return 0, net.ErrClosed
		case !p.deadline.IsZero() && !time.Now().Before(p.deadline):
			return 0, os.ErrDeadlineExceeded
		case p.buf.Len() > 0:
			return p.buf.Read(b)
		case p.ended:
			return 0, io.EOF
		}
		p.change.Wait()
	}
}

func (p *pipe) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
		return 0, net.ErrClosed
	case p.left:
		return 0, syscall.EPIPE
	}
	p.change.Broadcast()
	return p.buf.Write(b)
}

// set calls f, and wakes the reader.
func (p *pipe) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.change.Broadcast()
}

// pipeEnd is one end of a connection.
type pipeEnd struct{ in, out *pipe }

// Read waits for bytes.
func (e *pipeEnd) Read(b []byte) (int, error) { return e.in.read(b) }

// Write never waits.
func (e *pipeEnd) Write(b []byte) (int, error) { return e.out.write(b) }

// Close lets the other end read what was written.
func (e *pipeEnd) Close() error {
	e.in.set(func() { e.in.left = true })
	e.out.set(func() { e.out.ended = true })
	return nil
}

// SetReadDeadline makes Read fail from t on.
func (e *pipeEnd) SetReadDeadline(t time.Time) error {
	e.in.set(func() { e.in.deadline = t })
	if wait := time.Until(t); wait > 0 {
		time.AfterFunc(wait, func() { e.in.set(func() {}) })
	}
	return nil
}

// SetWriteDeadline has nothing to do.
func (e *pipeEnd) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline is SetReadDeadline.
func (e *pipeEnd) SetDeadline(t time.Time) error { return e.SetReadDeadline(t) }

// LocalAddr returns the address that all pipes have.
func (e *pipeEnd) LocalAddr() net.Addr { return pipeAddr }

// RemoteAddr returns the address that all pipes have.
func (e *pipeEnd) RemoteAddr() net.Addr { return pipeAddr }

var pipeAddr = &net.UnixAddr{Name: "pipe", Net: "pipe"}

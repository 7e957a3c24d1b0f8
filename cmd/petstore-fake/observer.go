package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// observer is a ResponseWriter that remembers what was answered.
type observer struct {
	http.ResponseWriter
	request *http.Request
	status  int // 0: nothing was answered
	bytes   int
}

// WriteHeader sends the status.
func (o *observer) WriteHeader(status int) {
	if o.status == 0 {
		o.status = status
	}
	o.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (o *observer) Write(p []byte) (int, error) {
	if o.status == 0 {
		o.status = http.StatusOK
	}
	n, err := o.ResponseWriter.Write(p)
	o.bytes += n
	return n, err
}

// Unwrap lets http.ResponseController find what lies below.
func (o *observer) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// Hijack hands the connection to a fault that breaks it.
func (o *observer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(o.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if used, ok := o.request.Context().Value(usesKey{}).(*int); ok && *used > 1 {
		conn = &usedConn{conn}
	}
	return conn, buffers, nil
}

// usedConn is a connection that carried another request before. When one of these breaks before any
// byte of an answer, many HTTP clients send a GET again without a word, and a fault that broke it
// would go unseen. So the first bytes of a status line go ahead, as at the fake's own port.
type usedConn struct{ net.Conn }

// SetLinger is what the fake calls before it closes a connection in place of an answer.
func (c *usedConn) SetLinger(sec int) error {
	_, _ = io.WriteString(c.Conn, "HTTP/1.1 ") // the client may be gone
	if l, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		return l.SetLinger(sec)
	}
	return nil
}

// usesKey finds the number of requests that a connection has carried. They come one after another,
// on one goroutine.
type usesKey struct{}

func countUses(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, usesKey{}, new(int))
}

func noteUse(r *http.Request) {
	if used, ok := r.Context().Value(usesKey{}).(*int); ok {
		*used++
	}
}

// bodyTimeout bounds how long a request's body may take to arrive. http.Server.ReadTimeout would not
// do: it ends the waiting for an answer as well, and a stall has to last.
const bodyTimeout = 30 * time.Second

// timedBody lifts the deadline of reading once the body is there.
type timedBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

// boundBody bounds the time that the body of a request may take.
func boundBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	conn := http.NewResponseController(w)
	if conn.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil {
		r.Body = &timedBody{r.Body, conn}
	}
}

// Read reads a part of the body.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.conn.SetReadDeadline(time.Time{}) // a connection that is gone needs none
	}
	return n, err
}

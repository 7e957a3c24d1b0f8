package main

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"time"
)

// observer is a ResponseWriter that records the response.
type observer struct {
	http.ResponseWriter
	status int // 0: no response
	bytes  int
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

// Hijack hands the connection to a fault that breaks it off.
func (o *observer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(o.ResponseWriter).Hijack()
	if c, ok := conn.(*tls.Conn); ok {
		conn = brokenTLS{c}
	}
	return conn, buffers, err
}

// brokenTLS is a connection that ends as its TCP connection does, so that a client meets the same
// faults over https as over http. A [tls.Conn] would say goodbye first, and cannot be reset.
type brokenTLS struct{ *tls.Conn }

// Close closes the TCP connection.
func (c brokenTLS) Close() error { return c.NetConn().Close() }

// SetLinger is what the fake calls before a reset.
func (c brokenTLS) SetLinger(sec int) error {
	if tcp, ok := c.NetConn().(*net.TCPConn); ok {
		return tcp.SetLinger(sec)
	}
	return nil
}

// bodyTimeout bounds how long a request's body may take to arrive. http.Server.ReadTimeout would not
// do: it ends the wait for a response as well, and a stall has to last.
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

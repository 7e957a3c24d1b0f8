package main

import (
	"io"
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

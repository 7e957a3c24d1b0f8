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

// Unwrap returns the wrapped ResponseWriter, for http.ResponseController.
func (o *observer) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// bodyTimeout bounds how long a request's body may take to arrive. http.Server.ReadTimeout cannot
// be used: it would also end the wait for a response, and a stalled response must stay open.
const bodyTimeout = 30 * time.Second

// timedBody removes the read deadline of its connection when the body has been read.
type timedBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

// boundBody sets a deadline for the body of a request.
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
		_ = b.conn.SetReadDeadline(time.Time{}) // an error means that the connection is closed
	}
	return n, err
}

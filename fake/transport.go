package fake

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
)

// Transport returns an entry point without a net/http server or a connection: RoundTrip runs the
// server on the caller's goroutine, for any host. It is the fastest of the entry points and honours
// the request's context, also while a fault delays or stalls. Headers that a client's transport
// would have added to a request, such as User-Agent or Accept-Encoding, are not in the journal.
func (s *Server) Transport() http.RoundTripper { return direct{s} }

type direct struct{ srv *Server }

// RoundTrip serves a request. The errors are those which net/http returns for the same failure.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	ctx := r.Context()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if r.URL == nil {
		return nil, errors.New("fake: the request has no URL")
	}
	x := d.srv.newExchange(r)
	if !x.srv.inflight.enter(x) {
		return nil, notConnected(closedError{})
	}
	defer x.srv.inflight.leave(x)
	a := d.srv.respond(x, true)
	if err := a.err(); err != nil {
		return nil, err
	}
	return a.toHTTP(x), nil
}

// err returns the error that a client gets in place of a response, nil if it gets one.
func (a *response) err() error {
	switch {
	case a.lost != nil && a.wire == WireRefuse:
		return notConnected(a.lost)
	case a.lost != nil:
		return a.lost
	case !a.wire.shows():
		return wires[a.wire].err
	}
	return nil
}

// toHTTP returns the response as a client gets it.
func (a *response) toHTTP(x *exchange) *http.Response {
	resp := &http.Response{
		StatusCode: a.status,
		Status:     strconv.Itoa(a.status) + " " + http.StatusText(a.status),
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        make(http.Header, 8),
		ContentLength: int64(len(a.payload())),
		Request:       x.req,
	}
	a.header(resp.Header)
	if a.fault != nil {
		maps.DeleteFunc(resp.Header, func(_ string, values []string) bool { return len(values) == 0 })
	}
	announced, err := strconv.ParseUint(resp.Header.Get("Content-Length"), 10, 63)
	if err == nil {
		resp.ContentLength = int64(announced)
	}
	rest, end := a.arriving(resp.ContentLength, err == nil)
	body := &directBody{ctx: x.req.Context(), rest: *bytes.NewReader(rest), end: end}
	if a.wire == WireDrip {
		body.drips = x
	}
	resp.Body = body
	return resp
}

// arriving returns the bytes of the body that arrive, and the error at its end. announced is the
// Content-Length, and expressly is false if there is no such header. A fault may announce another
// number of bytes than there are: net/http sends no write that goes beyond it, and breaks the
// connection if there were fewer.
func (a *response) arriving(announced int64, expressly bool) ([]byte, error) {
	body := a.payload()
	switch {
	case a.head || bodiless(a.status):
		return nil, io.EOF
	case announced < int64(len(body)) && a.wire == WireDrip:
		return body[:announced], io.EOF
	case announced < int64(len(body)):
		body = nil
	}
	if int64(len(body)) < announced || a.wire == WireTruncate && !expressly {
		return body, io.ErrUnexpectedEOF
	}
	return body, io.EOF
}

type directBody struct {
	ctx    context.Context
	drips  *exchange // set if it drips
	rest   bytes.Reader
	end    error // after the last byte
	closed bool
}

// Read stops when the request's context ends, as a body that comes over a connection does.
func (b *directBody) Read(p []byte) (int, error) {
	switch {
	case b.closed:
		return 0, errors.New("http: read on closed response body")
	case b.ctx.Err() != nil:
		return 0, context.Cause(b.ctx)
	case len(p) == 0:
		return 0, nil
	case b.rest.Len() == 0:
		return 0, b.end
	case b.drips == nil:
		return b.rest.Read(p)
	}
	return b.drip(p[:1])
}

// drip waits for the next byte and reads it.
func (b *directBody) drip(p []byte) (int, error) {
	if err := b.drips.pause(dripPause); err != nil {
		return 0, err
	}
	if b.rest.Len() == 1 {
		b.drips.delivered()
	}
	return b.rest.Read(p)
}

// Close ends the body.
func (b *directBody) Close() error {
	b.closed = true
	return nil
}

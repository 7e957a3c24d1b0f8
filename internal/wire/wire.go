// Package wire sends a request at most once over net/http, and says what its error means.
package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/petstore/petstore-go/internal/deadline"
)

// Record records whether net/http may have written one request, and prevents that net/http writes
// it twice.
//
// net/http repeats a request by itself in two cases:
//
//   - A request with a body, if GetBody returns the body again. The GetBody set here returns an
//     error once there was a connection that the request may have been written to.
//   - A request without a body: over HTTP/1 if a kept connection fails, over HTTP/2 if a stream
//     ends with PROTOCOL_ERROR, REFUSED_STREAM or a GOAWAY. Therefore a read over HTTP/1 gets an
//     empty body, which does not change the bytes sent. Over HTTP/2 an empty body would be an
//     additional frame, which gateways turn into a chunked body. There a read has no body; instead,
//     its context ends when net/http gets a second connection for it, and HTTP/2 checks the context
//     before it writes.
//
// A write without a body, as a DELETE, must look like one of net/http, since servers refuse a POST
// without a length: it has no body, but the hooks. Over HTTP/1, net/http repeats it only if nothing
// was written.
type Record struct {
	transport  *Transport
	repeatable bool // sending it again has no further effect
	hasBody    bool
	body       requestBody
	copySent   atomic.Bool  // a copy of body, from GetBody, was sent, as it seems, and not only recorded
	hooked     bool         // the request has hooks of httptrace
	asked      atomic.Bool  // hook: the transport asked for a connection
	connected  atomic.Bool  // hook: the transport got a connection
	written    atomic.Int32 // hook: number of headers written, minus that of responses
	http1      bool         // responses came over HTTP/1 until now
	http2      atomic.Bool  // hook: the last connection speaks HTTP/2, or may
	repeated   atomic.Bool  // net/http was about to send the request again
}

// requestBody is the body of a create. It records whether it was read.
type requestBody struct {
	reader bytes.Reader
	read   atomic.Bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.read.Store(true)
	return b.reader.Read(p)
}

func (b *requestBody) Close() error { return nil }

// ReadAt is for those who look at the body, and close it, but do not send it.
func (b *requestBody) ReadAt(p []byte, off int64) (int, error) { return b.reader.ReadAt(p, off) }

// bodyCopy is a copy of the body of a create. Who records or signs a request reads the copy before
// a connection is asked for, and seldom closes it; who sends the copy must close it.
type bodyCopy struct {
	requestBody
	record *Record
}

func (b *bodyCopy) Read(p []byte) (int, error) {
	if b.record.asked.Load() {
		b.record.copySent.Store(true)
	}
	return b.requestBody.Read(p)
}

func (b *bodyCopy) Close() error {
	if b.read.Load() {
		b.record.copySent.Store(true)
	}
	return nil
}

// identity means no transfer coding. With it, net/http writes a body of unknown length unchanged.
// Without it, net/http would start a goroutine that reads the first byte, to choose a coding.
var identity = []string{"identity"}

// emptyBody is the body of a read over HTTP/1. It has no state, because a transport of the user may
// send a read twice, at the same time. With WriteTo, net/http needs no copy buffer of 32 KiB.
type emptyBody struct{}

func (emptyBody) Read([]byte) (int, error)         { return 0, io.EOF }
func (emptyBody) WriteTo(io.Writer) (int64, error) { return 0, nil }
func (emptyBody) Close() error                     { return nil }

// SetBody sets the body of r, which t will send; nil for none. repeatable is whether sending it
// again has no further effect. http1 is whether it goes over HTTP/1. It must be called first.
func (w *Record) SetBody(t *Transport, r *http.Request, body []byte, repeatable, http1 bool) {
	w.transport, w.repeatable, w.hasBody = t, repeatable, body != nil
	w.body.reader.Reset(body)
	switch {
	case body != nil:
		w.setCreate(r, body, http1)
	case !http1, !repeatable:
	case t.plain:
		r.Body, r.TransferEncoding = io.NopCloser(&w.body.reader), identity
	default:
		r.Body, r.TransferEncoding = emptyBody{}, identity
	}
}

// setCreate sets the body of a create. For an http.Transport, which calls hooks, the body has a
// type that net/http knows to be in memory, so that it writes header and body together. It asks for
// a copy only to send the request again, also after a registered protocol that did.
func (w *Record) setCreate(r *http.Request, body []byte, http1 bool) {
	r.ContentLength = int64(len(body))
	r.Body = &w.body
	if w.transport.plain {
		r.Body = io.NopCloser(&w.body.reader)
	}
	if !http1 && (w.transport.plain || w.transport.traceable) {
		return // without GetBody net/http does not repeat over HTTP/2, and its error has the reason
	}
	r.GetBody = func() (io.ReadCloser, error) {
		if w.transport.plain || w.connected.Load() || w.body.read.Load() {
			return nil, ErrNotRepeated
		}
		copied := &bodyCopy{record: w}
		copied.reader.Reset(body)
		return copied, nil
	}
}

// Watch returns the context of the request, which is ctx or derived from it. It adds hooks only
// where they are needed: for a write, and for a read without a body.
func (w *Record) Watch(ctx *deadline.Context, http1 bool) context.Context {
	if w.repeatable && http1 {
		return ctx
	}
	w.hooked, w.http1 = true, http1
	hooks := &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(info httptrace.GotConnInfo) {
			if w.connected.Swap(true) && w.written.Load() > 0 && w.http2.Load() {
				w.repeated.Store(true)
				ctx.End()
			}
			conn, ok := info.Conn.(*tls.Conn)
			w.http2.Store(!w.http1 || ok && conn.ConnectionState().NegotiatedProtocol == "h2")
		},
	}
	if !w.hasBody {
		hooks.WroteHeaders = func() { w.written.Add(1) }
		// net/http does not repeat a request that had a response. A connection after that is for
		// another request of the user's transport, which logs with httputil.DumpRequestOut, fetches
		// a token, or retries. Over HTTP/2, the response may come before WroteHeaders.
		hooks.GotFirstResponseByte = func() { w.written.Add(-1) }
	}
	return httptrace.WithClientTrace(ctx, hooks)
}

// ErrNotRepeated replaces an error after which net/http would have sent the request again.
var ErrNotRepeated = errors.New("the connection or stream failed before a response")

// MayHaveSent reports whether the request may have been written; err is the error of the
// transport. It returns false only if nothing was written for certain: the dial or the handshake
// failed, or net/http had no connection yet. Hooks and errors alone are not certain: a transport of
// the user may send the body by other means, in other contexts, and return the error of a later
// dial. But it cannot send a body that it did not read. And an http.Transport asks for a connection
// unless the request is that of a registered protocol.
func (w *Record) MayHaveSent(err error) bool {
	switch {
	case err == nil, w.connected.Load(), w.body.read.Load(), w.copySent.Load():
		return true
	case w.transport.plain && w.hooked:
		return !w.asked.Load() && !w.transport.own
	case neverConnected(err):
		return false
	case w.asked.Load():
		return !w.hasBody && !w.transport.traceable
	}
	return !w.hooked || !w.transport.traceable
}

// Repeated reports whether net/http was about to send the request again.
func (w *Record) Repeated() bool { return w.repeated.Load() }

// Unprocessed reports whether err guarantees that the server did not process the create.
func (w *Record) Unprocessed(err error) bool {
	return w.connected.Load() && unprocessed(err) // else the words are of another request
}

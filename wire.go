package petstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// wire records whether net/http may have written one request, and prevents that net/http writes it
// twice.
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
type wire struct {
	body      requestBody
	copySent  atomic.Bool  // a copy of body, from GetBody, was sent, as it seems, and not only recorded
	hooked    bool         // the request has hooks of httptrace
	asked     atomic.Bool  // hook: the transport asked for a connection
	connected atomic.Bool  // hook: the transport got a connection
	written   atomic.Int32 // hook: number of headers written, minus that of responses
	repeated  atomic.Bool  // net/http was about to send the request again
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
	wire *wire
}

func (b *bodyCopy) Read(p []byte) (int, error) {
	if b.wire.asked.Load() {
		b.wire.copySent.Store(true)
	}
	return b.requestBody.Read(p)
}

func (b *bodyCopy) Close() error {
	if b.read.Load() {
		b.wire.copySent.Store(true)
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

// setBody sets the body of r.
func (w *wire) setBody(k *call, r *http.Request, http1 bool) {
	w.body.reader.Reset(k.body)
	switch {
	case k.body != nil:
		w.setCreate(k, r, http1)
	case !http1:
	case k.client.plain:
		r.Body, r.TransferEncoding = io.NopCloser(&w.body.reader), identity
	default:
		r.Body, r.TransferEncoding = emptyBody{}, identity
	}
}

// setCreate sets the body of a create. For an http.Transport, which calls hooks, the body has a type
// that net/http knows to be in memory, so that it writes header and body together. It asks for a copy
// only to send the request again, also after a registered protocol that did.
func (w *wire) setCreate(k *call, r *http.Request, http1 bool) {
	r.ContentLength = int64(len(k.body))
	r.Body = &w.body
	if k.client.plain {
		r.Body = io.NopCloser(&w.body.reader)
	}
	if !http1 && (k.client.plain || k.client.traceable) {
		return // without GetBody net/http does not repeat over HTTP/2, and its error has the reason
	}
	r.GetBody = func() (io.ReadCloser, error) {
		if k.client.plain || w.connected.Load() || w.body.read.Load() {
			return nil, errNotRepeated
		}
		copied := &bodyCopy{wire: w}
		copied.reader.Reset(k.body)
		return copied, nil
	}
}

// watch returns the context of the request. It adds hooks only where they are needed: for a create,
// and for a read without a body.
func (w *wire) watch(a *attempt, http1 bool) context.Context {
	k := a.call
	if k.operation.repeatable && http1 {
		return &a.context
	}
	w.hooked = true
	hooks := &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) {
			if w.connected.Swap(true) && w.written.Load() > 0 {
				w.repeated.Store(true)
				a.context.End()
			}
		},
	}
	if k.operation.repeatable {
		hooks.WroteHeaders = func() { w.written.Add(1) }
		// net/http does not repeat a request that had a response. A connection after that is for
		// another request of the user's transport, which logs with httputil.DumpRequestOut, fetches
		// a token, or retries. Over HTTP/2, the response may come before WroteHeaders.
		hooks.GotFirstResponseByte = func() { w.written.Add(-1) }
	}
	return httptrace.WithClientTrace(&a.context, hooks)
}

// errNotRepeated replaces an error after which net/http would have sent the request again.
var errNotRepeated = errors.New("the connection or stream failed before a response")

// mayHaveSent reports whether the request of k may have been written; err is the error of the
// transport. It returns false only if nothing was written for certain: the dial or the handshake
// failed, or net/http had no connection yet. Hooks and errors alone are not certain: a transport of
// the user may send the body by other means, in other contexts, and return the error of a later
// dial. But it cannot send a body that it did not read. And an http.Transport asks for a connection
// unless the request is that of a registered protocol.
func (w *wire) mayHaveSent(k *call, err error) bool {
	switch {
	case err == nil, w.connected.Load(), w.body.read.Load(), w.copySent.Load():
		return true
	case k.client.plain && w.hooked:
		return !w.asked.Load() && !k.client.own
	case neverConnected(err):
		return false
	case w.asked.Load():
		return k.operation.repeatable && !k.client.traceable
	}
	return !w.hooked || !k.client.traceable
}

// httpTransport returns t if it is an http.Transport, or the one that it wraps if it has the Unwrap
// method that WithTransport describes; else nil.
func httpTransport(t http.RoundTripper) *http.Transport {
	for {
		wrapper, ok := t.(interface{ Unwrap() http.RoundTripper })
		if !ok {
			found, _ := t.(*http.Transport)
			return found
		}
		t = wrapper.Unwrap()
	}
}

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
	hooked    bool        // the request has hooks of httptrace
	asked     atomic.Bool // hook: the transport asked for a connection
	connected atomic.Bool // hook: the transport got a connection
	written   atomic.Bool // hook: the header was written, in part or completely
	repeated  atomic.Bool // net/http was about to send the request again
}

// requestBody is the body of a request. It records whether it was read.
type requestBody struct {
	reader bytes.Reader
	read   atomic.Bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.read.Store(true)
	return b.reader.Read(p)
}

func (b *requestBody) Close() error { return nil }

// identity means no transfer coding. With it, net/http writes a body of unknown length unchanged.
// Without it, net/http would start a goroutine that reads the first byte, to choose a coding.
var identity = []string{"identity"}

// emptyBody is the body of a read over HTTP/1. It has no state, because a transport of the user may
// send a read twice, at the same time. With WriteTo, net/http needs no copy buffer of 32 KiB.
type emptyBody struct{}

func (emptyBody) Read([]byte) (int, error)         { return 0, io.EOF }
func (emptyBody) WriteTo(io.Writer) (int64, error) { return 0, nil }
func (emptyBody) Close() error                     { return nil }

// setBody sets the body of r. If the transport is net/http's own, the body has a type that net/http
// knows to be in memory, so that it writes header and body together.
func (w *wire) setBody(k *call, r *http.Request) {
	w.body.reader.Reset(k.body)
	switch {
	case k.body != nil:
		w.setCreate(k, r)
	case !k.client.http1.Load():
	case k.client.plain:
		r.Body, r.TransferEncoding = io.NopCloser(&w.body.reader), identity
	default:
		r.Body, r.TransferEncoding = emptyBody{}, identity
	}
}

// setCreate sets the body of a create.
func (w *wire) setCreate(k *call, r *http.Request) {
	r.ContentLength = int64(len(k.body))
	r.Body = &w.body
	if k.client.plain || k.client.traceable {
		r.Body = io.NopCloser(&w.body.reader)
		if !k.client.http1.Load() {
			return // without GetBody net/http does not repeat over HTTP/2, and its error has the reason
		}
	}
	r.GetBody = func() (io.ReadCloser, error) {
		if w.connected.Load() || w.body.read.Load() {
			return nil, errNotRepeated
		}
		return io.NopCloser(bytes.NewReader(k.body)), nil
	}
}

// watch returns the context of the request. It adds hooks only where they are needed: for a create,
// and for a read without a body.
func (w *wire) watch(a *attempt) context.Context {
	k := a.context.call
	if k.operation.repeatable && k.client.http1.Load() {
		return &a.context
	}
	w.hooked = true
	hooks := &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) {
			if w.connected.Swap(true) && w.written.Load() {
				w.repeated.Store(true)
				a.context.end()
			}
		},
	}
	if k.operation.repeatable {
		hooks.WroteHeaders = func() { w.written.Store(true) }
		// net/http does not repeat a request that had a response. A connection after that is for
		// another request of the user's transport, which logs with httputil.DumpRequestOut, fetches
		// a token, or retries.
		hooks.GotFirstResponseByte = func() { w.written.Store(false) }
	}
	return httptrace.WithClientTrace(&a.context, hooks)
}

// errNotRepeated replaces an error after which net/http would have sent the request again.
var errNotRepeated = errors.New("the connection or stream failed before a response")

// mayHaveSent reports whether the request of k may have been written; err is the error of the
// transport. It returns false only if nothing was written for certain: the dial or the handshake
// failed, or net/http had no connection yet. Hooks alone are not certain: a transport around
// net/http may use another transport, without hooks, which then has read the body; and the user's
// http.Transport may have a registered protocol, which calls no hooks.
func (w *wire) mayHaveSent(k *call, err error) bool {
	switch {
	case err == nil, w.connected.Load():
		return true
	case neverConnected(err):
		return false
	case w.asked.Load():
		return !k.client.plain && !k.client.traceable && (w.body.read.Load() || k.operation.repeatable)
	}
	return !w.hooked || !k.client.traceable || w.body.read.Load()
}

// callsHooks reports whether t is an http.Transport, or wraps one and has the Unwrap method that
// WithTransport describes.
func callsHooks(t http.RoundTripper) bool {
	for {
		wrapper, ok := t.(interface{ Unwrap() http.RoundTripper })
		if !ok {
			_, ok = t.(*http.Transport)
			return ok
		}
		t = wrapper.Unwrap()
	}
}

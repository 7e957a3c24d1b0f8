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

// wire is what is known of one request's way through net/http: whether it may have been written, and that it is
// written once.
//
// net/http repeats a request by itself in two ways. With the body that GetBody gives it: ours refuses as soon as
// there was a connection that the request may have been written to. And without a body: over HTTP/1 when a kept
// connection fails, over HTTP/2 when a stream ends with PROTOCOL_ERROR, REFUSED_STREAM or a GOAWAY. So a read over
// HTTP/1 has an empty body, which changes nothing on the wire. Over HTTP/2 that would be a frame more, which
// gateways turn into a chunked body: there the read has none, and its context ends as soon as a connection is
// found for it a second time, which HTTP/2 looks at before it writes.
type wire struct {
	body      requestBody
	hooked    bool        // the transport is given hooks
	asked     atomic.Bool // a transport reported that it looks for a connection
	connected atomic.Bool // and that it had one
	written   atomic.Bool // the header was written, in part or whole
	repeated  atomic.Bool // net/http was about to send the request again
}

// requestBody is the body of a request, which notices that it is read.
type requestBody struct {
	reader bytes.Reader
	read   atomic.Bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.read.Store(true)
	return b.reader.Read(p)
}

func (b *requestBody) Close() error { return nil }

// identity is no transfer coding: with it net/http writes a body of unknown length as it is, and does not look
// for its first byte on another goroutine in order to choose a coding.
var identity = []string{"identity"}

// emptyBody is the body of a read over HTTP/1. It has no state: a transport of the user's that sends a read twice does
// not expect a body that two may read. WriteTo keeps net/http from copying it with a buffer of 32 KiB.
type emptyBody struct{}

func (emptyBody) Read([]byte) (int, error)         { return 0, io.EOF }
func (emptyBody) WriteTo(io.Writer) (int64, error) { return 0, nil }
func (emptyBody) Close() error                     { return nil }

// setBody gives r its body. Where nobody is between, the body is of a type that net/http knows to be in memory: it
// then writes header and body in one piece.
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

// setCreate gives r the body of a create.
func (w *wire) setCreate(k *call, r *http.Request) {
	r.ContentLength = int64(len(k.body))
	r.Body = &w.body
	if k.client.plain || k.client.reports {
		r.Body = io.NopCloser(&w.body.reader)
	}
	r.GetBody = func() (io.ReadCloser, error) {
		if w.connected.Load() || w.body.read.Load() {
			return nil, errNotRepeated
		}
		return io.NopCloser(bytes.NewReader(k.body)), nil
	}
}

// watch returns the context of the request. It has hooks only where what they report matters: for what must
// not be repeated, and for a read without a body.
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
	}
	return httptrace.WithClientTrace(&a.context, hooks)
}

// errNotRepeated stands for the error that net/http answered with a repetition.
var errNotRepeated = errors.New("the connection or stream failed before a response")

// mayHaveSent reports whether the request of k may have been written, err being what the transport returned. It is
// false only if nothing was: the dial or the handshake failed, or net/http had no connection yet. That net/http is
// below does not say it all: a transport around it may fall back to another that reports nothing, which then
// has read the body; and one of the user's may have a protocol registered that goes its own way.
func (w *wire) mayHaveSent(k *call, err error) bool {
	switch {
	case err == nil, w.connected.Load():
		return true
	case neverConnected(err):
		return false
	case w.asked.Load():
		return !k.client.plain && !k.client.reports && (w.body.read.Load() || k.operation.repeatable)
	}
	return !w.hooked || !k.client.reports || w.body.read.Load()
}

// reports reports whether t is an http.Transport in wrappers that say what they wrap.
func reports(t http.RoundTripper) bool {
	for {
		wrapper, ok := t.(interface{ Unwrap() http.RoundTripper })
		if !ok {
			_, ok = t.(*http.Transport)
			return ok
		}
		t = wrapper.Unwrap()
	}
}

// Package wire sends a request of a write at most once over net/http, and says what its error
// means.
package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
)

// Record records whether net/http may have written one request, and prevents that net/http writes a
// write twice. net/http repeats a request by itself if it has a body and GetBody, or if no body was
// read. So a write has no GetBody, and its context ends when net/http gets a second connection for
// it after it wrote its header to the first. That a read is repeated does no harm.
type Record struct {
	Transport  *Transport // sends the request
	Repeatable bool       // sending it again has no further effect

	hasBody   bool         // the request has one, which is body
	asked     atomic.Bool  // hook: the transport asked for a connection
	connected atomic.Bool  // hook: the transport got a connection
	reused    atomic.Bool  // hook: one of the connections had been used before
	written   atomic.Int32 // hook: number of headers written, minus that of responses
	repeated  atomic.Bool  // net/http was about to send the request again
	body      requestBody
	hooks     httptrace.ClientTrace
}

// requestBody is the body of a write. It records whether it was read.
type requestBody struct {
	reader bytes.Reader
	read   atomic.Bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.read.Store(true)
	return b.reader.Read(p)
}

func (b *requestBody) Close() error { return nil }

// SetBody sets the body of r, nil for none. For an http.Transport, the body has a type that net/http
// knows to be in memory, so that it writes header and body together.
func (w *Record) SetBody(r *http.Request, content []byte) {
	r.Body, r.GetBody = nil, nil
	if w.hasBody = content != nil; !w.hasBody {
		return
	}
	w.body.reader.Reset(content)
	r.ContentLength = w.body.reader.Size()
	r.Body = &w.body
	if w.Transport.plain {
		r.Body = io.NopCloser(&w.body.reader)
	}
}

// Watch returns the context of a request to u, which is ctx or, for a write and through a proxy,
// derived from it. cancel ends ctx.
func (w *Record) Watch(ctx context.Context, cancel context.CancelFunc, u *url.URL) context.Context {
	if w.Repeatable && !w.goesThroughProxy(u) {
		return ctx
	}
	w.hooks = httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(info httptrace.GotConnInfo) {
			if info.Reused {
				w.reused.Store(true)
			}
			if w.connected.Swap(true) && !w.Repeatable && w.written.Load() > 0 {
				w.repeated.Store(true)
				cancel() // net/http looks at the context before it writes
			}
		},
		WroteHeaders: func() { w.written.Add(1) },
		// net/http does not repeat a request that had a response. A connection after that is for
		// another request of the user's transport, which logs with httputil.DumpRequestOut, fetches
		// a token, or retries. Over HTTP/2, the response may come before WroteHeaders.
		GotFirstResponseByte: func() { w.written.Add(-1) },
	}
	return httptrace.WithClientTrace(ctx, &w.hooks)
}

// ErrNotRepeated replaces an error after which net/http would have sent the request again.
var ErrNotRepeated = errors.New("the connection or stream failed before a response")

// MayHaveSent reports whether the request may have been written; err is the error of the transport.
// A read is taken for sent unless there was no connection.
func (w *Record) MayHaveSent(err error) bool {
	switch {
	case err == nil:
		return true
	case w.Repeatable:
		return w.connected.Load() || !w.asked.Load() && !neverConnected(err)
	case w.handshakeFailed(err):
		return false
	}
	return w.mayHaveWritten(err)
}

// mayHaveWritten is MayHaveSent for a write that failed with err. Errors alone are not certain: a
// transport of the user may send it by other means, in other contexts, and return the error of a
// later dial. But it cannot send a body that it did not read, and one that names the http.Transport
// below it sends through that only.
func (w *Record) mayHaveWritten(err error) bool {
	switch {
	case w.connected.Load(), w.body.read.Load():
		return true
	case w.Transport.plain: // it asks for a connection unless the request is that of a registered protocol
		return !w.asked.Load() && !w.Transport.own
	case !w.hasBody: // it may have been sent in another context, without hooks
		return true
	case w.Transport.traceable:
		return false
	}
	return !w.asked.Load() && !neverConnected(err)
}

// handshakeFailed reports whether the handshake of the only connection failed after the client took
// it for done.
func (w *Record) handshakeFailed(err error) bool {
	certain := w.Transport.plain || w.Transport.traceable && w.hasBody
	return certain && w.connected.Load() && !w.reused.Load() && refusedClient(err)
}

// Repeated reports whether net/http was about to send the request again.
func (w *Record) Repeated() bool { return w.repeated.Load() }

var errNothing = errors.New("the transport returned neither a response nor an error")

// CheckResponse returns an error for a response that cannot be final: nil, which a transport must
// not return, and a status from 000 to 199, which net/http passes on. A nil body becomes an empty
// one.
func CheckResponse(resp *http.Response, err error) (*http.Response, error) {
	switch {
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errNothing
	case resp.Body == nil:
		resp.Body = http.NoBody
	}
	if resp.StatusCode >= http.StatusOK {
		return resp, nil
	}
	_ = resp.Body.Close() // the body is not used
	return nil, fmt.Errorf("malformed HTTP response: status %03d", resp.StatusCode)
}

func (w *Record) goesThroughProxy(u *url.URL) bool {
	if w.Transport.proxy == nil {
		return false
	}
	proxy, err := w.Transport.proxy(&http.Request{URL: u})
	return err == nil && proxy != nil
}

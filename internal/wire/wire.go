// Package wire sends a request at most once over net/http, and says what its error means.
package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"reflect"
	"sync/atomic"
	"time"
)

// Record records whether net/http may have written a request, and keeps net/http from writing it
// twice. By itself, net/http repeats a request that has GetBody, or of whose body nothing was read.
// So the request gets no GetBody, and Record ends it when net/http gets a second connection for it
// after it wrote the header to a first one.
type Record struct {
	body      requestBody
	tracked   bool         // body records whether it was read
	asked     atomic.Bool  // hook: the transport asked for a connection
	connected atomic.Bool  // hook: the transport got a connection
	open      atomic.Int32 // hook: headers written minus responses begun
	interim   atomic.Int32 // hook: bytes of interim responses
	http1     atomic.Bool  // the connection is surely one of HTTP/1
	repeated  atomic.Bool  // net/http was about to send the request again
	transport *Transport
	cancel    context.CancelFunc
	hooks     httptrace.ClientTrace
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

// SetBody sets the body of r; an empty content stands for none. For an http.Transport, the body has
// a type that net/http knows to be in memory, so that it writes header and body together. Any other
// transport gets a body that records whether it was read: a request whose body was not read was not
// sent. For this, a DELETE without a body gets an empty one, which looks the same on the wire. With
// other methods it would look different, so they get none.
func (w *Record) SetBody(r *http.Request, content []byte) {
	if len(content) == 0 && (w.transport.plain || r.Method != http.MethodDelete) {
		return
	}
	w.tracked = true
	w.body.reader.Reset(content)
	r.ContentLength = w.body.reader.Size()
	if r.Body = &w.body; w.transport.plain {
		r.Body = io.NopCloser(&w.body.reader)
	}
}

// Watch returns the context of a request through t, which is derived from ctx. cancel ends ctx.
func (w *Record) Watch(ctx context.Context, cancel context.CancelFunc, t *Transport) context.Context {
	w.transport, w.cancel = t, cancel
	w.hooks = httptrace.ClientTrace{
		GetConn:      func(string) { w.asked.Store(true) },
		GotConn:      w.gotConn,
		WroteHeaders: func() { w.open.Add(1) },
		// net/http does not repeat a request that had a response. If the transport of a user gets another
		// connection after that, it is for another request: it logs with httputil.DumpRequestOut, its
		// DialContext asks a directory, or it retries. Over HTTP/2, the response may come before
		// WroteHeaders.
		GotFirstResponseByte: func() { w.open.Add(-1) },
		Got1xxResponse:       w.gotInterim,
	}
	return httptrace.WithClientTrace(ctx, &w.hooks)
}

// gotConn ends the request if it would be a repetition. Over HTTP/2, net/http looks at the context
// before it writes, so that cancelling is enough. Over HTTP/1 it does not look, but there the
// connection is for this request alone, and its write deadline ends the request.
func (w *Record) gotConn(info httptrace.GotConnInfo) {
	repeats := w.connected.Swap(true) && w.open.Load() > 0
	protocol, isTLS := protocolOf(info.Conn)
	http2 := protocol == "h2" || w.transport.h2c || info.Conn == nil
	// Without TLS, a transport that cannot be looked through may speak HTTP/2, too.
	w.http1.Store(!http2 && (isTLS || w.transport.traceable))
	if !repeats {
		return
	}
	w.repeated.Store(true)
	w.cancel()
	if !http2 {
		_ = info.Conn.SetWriteDeadline(time.Unix(1, 0)) // in the past: writes fail at once
	}
}

// gotInterim takes back what the hook GotFirstResponseByte did: the first byte was only that of an
// interim response, after which net/http repeats a request over HTTP/2, but not over HTTP/1. With a
// hook for interim responses, net/http does not limit the size of all of them.
func (w *Record) gotInterim(_ int, header textproto.MIMEHeader) error {
	if !w.http1.Load() {
		w.open.Add(1)
	}
	const overhead = 32 // as net/http counts
	size := overhead
	for name, values := range header {
		for _, v := range values {
			size += len(name) + len(v) + overhead
		}
	}
	if w.interim.Add(int32(size)) > maxHeaderBytes {
		return errors.New("malformed HTTP response: too many interim responses")
	}
	return nil
}

// protocolOf returns the protocol that a connection with TLS has negotiated; false without TLS.
func protocolOf(conn net.Conn) (protocol string, isTLS bool) {
	secure, ok := conn.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return "", false
	}
	return secure.ConnectionState().NegotiatedProtocol, true
}

// ErrNotRepeated replaces an error after which net/http would have sent the request again.
var ErrNotRepeated = errors.New("the connection or stream failed before a response")

// Repeated reports whether net/http was about to send the request again.
func (w *Record) Repeated() bool { return w.repeated.Load() }

// MayHaveSent reports whether the request may have been written. err is the error of the transport;
// refused says whether this error itself states that nothing was sent. Errors alone prove nothing:
// a transport of the user may send a request by other means, in other contexts, and then return the
// error of a later dial. But it cannot send a body that it did not read.
func (w *Record) MayHaveSent(err error, refused bool) bool {
	switch {
	case err == nil, w.connected.Load(), w.body.read.Load(),
		w.transport.plain && w.body.reader.Len() != int(w.body.reader.Size()):
		return true
	case w.asked.Load(), w.tracked && w.transport.traceable:
		return false
	}
	return !refused && !neverConnected(err)
}

var errNothing = errors.New("the transport returned neither a response nor an error")

// IsNil reports whether err is nil or a nil pointer, which code of a user with an error type of its
// own returns by mistake.
func IsNil(err error) bool {
	v := reflect.ValueOf(err)
	return err == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// CheckResponse returns an error for a response that cannot be final: nil, which a transport must
// not return, and a status from 000 to 199, which net/http passes on. A nil body becomes an empty
// one.
func CheckResponse(resp *http.Response, err error) (*http.Response, error) {
	switch {
	case !IsNil(err):
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

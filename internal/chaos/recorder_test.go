package chaos

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// request is one request on the wire, with its response.
type request struct {
	at        time.Time
	kind      *kind
	dialled   atomic.Bool // the transport asked for a connection
	connected atomic.Bool // the transport got a connection
	status    int
	err       error
	body      []byte
	whole     bool // the body was read to its end
}

// untouched reports whether certainly nothing of the request was written.
func (q *request) untouched() bool {
	failed, ok := errors.AsType[*net.OpError](q.err)
	return ok && failed.Op == "dial" || q.err != nil && q.dialled.Load() && !q.connected.Load()
}

// recorder is the transport below the client: it records each request, and sets the header that
// selects its failure.
type recorder struct {
	base   http.RoundTripper
	origin string // scheme, host and port that may get the key
	report *report
	bodies atomic.Int64 // number of bodies that are not closed

	requests atomic.Int64 // number of requests so far
}

// RoundTrip records and sends a request.
func (w *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	w.inspect(r)
	c := r.Context().Value(callKey{}).(*call)
	q := c.sends()
	passed := r.Clone(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GetConn: func(string) { q.dialled.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { q.connected.Store(true) },
	}))
	passed.Header.Set(kindHeader, q.kind.name)
	passed.Header.Set(requestHeader, strconv.FormatInt(w.requests.Add(1), 10))
	if r.Body != nil {
		passed.Body = keyless{r.Body, w.report}
	}
	resp, err := w.base.RoundTrip(passed)
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.err = err; err != nil {
		return nil, err
	}
	q.status = resp.StatusCode
	w.bodies.Add(1)
	resp.Body = &body{ReadCloser: resp.Body, left: &w.bodies, call: c, request: q, length: resp.ContentLength}
	return resp, nil
}

// sends records the call's next request.
func (c *call) sends() *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := &request{at: time.Now(), kind: plain}
	if n := len(c.requests); n < len(c.kinds) {
		q.kind = c.kinds[n]
	}
	c.requests = append(c.requests, q)
	return q
}

// inspect checks that the key is in the Authorization header, for the origin only, and nowhere
// else.
func (w *recorder) inspect(r *http.Request) {
	if origin := r.URL.Scheme + "://" + r.URL.Host; origin != w.origin || r.Host != "" && r.Host != r.URL.Host {
		w.report.found("key", "a request went to %s for %q", origin, r.Host)
	}
	if got := r.Header["Authorization"]; !slices.Equal(got, []string{"Bearer " + key}) {
		w.report.found("key", "%d values of Authorization, or not the key", len(got))
	}
	places := []string{r.URL.String()}
	for name, values := range r.Header {
		if name != "Authorization" {
			places = append(append(places, name), values...)
		}
	}
	if strings.Contains(strings.Join(places, "\n"), key) {
		w.report.found("key", "it is in %q", places)
	}
}

// keyless reports the key in the body of a request.
type keyless struct {
	io.ReadCloser
	report *report
}

func (b keyless) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if strings.Contains(string(p[:n]), key) {
		b.report.found("key", "it is in a body")
	}
	return n, err
}

// body records which part of a response's body was read, and that it was closed.
type body struct {
	io.ReadCloser
	left    *atomic.Int64
	call    *call
	request *request
	length  int64
	closed  sync.Once
}

// Read keeps a copy.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.call.mu.Lock()
	defer b.call.mu.Unlock()
	q := b.request
	q.body = append(q.body, p[:n]...)
	q.whole = q.whole || errors.Is(err, io.EOF) || int64(len(q.body)) == b.length
	return n, err
}

// Close counts the body as closed.
func (b *body) Close() error {
	b.closed.Do(func() { b.left.Add(-1) })
	return b.ReadCloser.Close()
}

// logCheck is the writer of a log; it looks for the key in each line.
type logCheck struct{ report *report }

// Write checks p.
func (e logCheck) Write(p []byte) (int, error) {
	if strings.Contains(string(p), key) {
		e.report.found("key", "it was logged")
	}
	return len(p), nil
}

package chaos

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// faults has what may happen to a request. faults[0] is nothing. A status that means "not carried
// out", such as 400 or 429, is sent only if that is true: no client can cope with a service that is
// wrong about it.
var faults = append([]fake.Fault{
	{},
	{Status: 307, Header: http.Header{"Location": {"https://elsewhere.test/v1/pets"}}},
	{Status: 400, Message: "what is " + key + "?", Header: http.Header{"X-Echo": {key}}},
	{Status: 401},
	{Status: 404},
	{Status: 429},
	{Status: 429, Wire: fake.WireTruncate},
	{Status: 429, RetryAfter: "soon"},
	{Status: 429, RetryAfter: "3"},
	{Status: 500, Wire: fake.WireTruncate},
	{Status: 501},
	{Status: 503, RetryAfter: "2.5"}, // the fake takes a fraction as a wait of this call, not of the key
	{Wire: fake.WireRefuse},
	// These change only the response: the request is carried out.
	{Body: []byte(`{"id":1,"name":"`)},
	{Body: []byte(`{"status":"available"}`)},
	{Header: http.Header{"Content-Type": {"text/html"}}},
	{Header: http.Header{"X-RateLimit-Limit": nil, "X-RateLimit-Remaining": nil, "X-RateLimit-Reset": nil}},
	{Header: http.Header{"X-RateLimit-Remaining": {"-1"}, "X-RateLimit-Reset": {"tomorrow"}}},
}, inDoubt()...)

// inDoubt returns the faults that may come before or after the request is carried out: responses
// whose status leaves that open, and what happens on the wire.
func inDoubt() (all []fake.Fault) {
	for _, after := range []bool{false, true} {
		for _, status := range []int{202, 204, 408, 500, 502, 503, 504} {
			all = append(all, fake.Fault{Status: status, AfterCommit: after})
		}
		for _, wire := range []fake.Wire{
			"", fake.WireReset, fake.WireClose, fake.WireTruncate, fake.WireGarbage, fake.WireStall, fake.WireLoginPage,
		} {
			for _, delay := range []time.Duration{0, 700 * time.Millisecond, 2 * time.Second} {
				all = append(all, fake.Fault{Wire: wire, Delay: delay, AfterCommit: after})
			}
		}
	}
	return all
}

// faultHeader is the header of a request by which the fake selects its fault.
const faultHeader = "Chaos-Fault"

// inject makes the service give each request the fault whose index its header has.
func inject(srv *fake.Server) {
	for i, f := range faults {
		f.Times = fake.Forever
		f.Match = func(r *http.Request) bool { return r.Header.Get(faultHeader) == fmt.Sprint(i) }
		srv.Inject(f)
	}
}

// request is one request of a client, with its response.
type request struct {
	at     time.Time
	key    string       // of the header Authorization
	fault  int          // the index in faults
	asked  atomic.Int32 // number of times that the transport asked for a connection
	got    atomic.Int32 // number of connections that it got; after the first, net/http has sent it again
	status int
	err    error
}

// unsent reports whether the service has certainly not processed the request: it got no connection,
// or the protocol says so.
func (q *request) unsent() bool {
	if q.err == nil {
		return false
	}
	text := q.err.Error()
	op, ok := errors.AsType[*net.OpError](q.err)
	return q.got.Load() == 0 && (q.asked.Load() > 0 || ok && op.Op == "dial") ||
		strings.Contains(text, "cannot rewind body after connection loss") || // nothing was written
		strings.Contains(text, "cannot retry err [") && // RFC 9113, section 8.7
			(strings.Contains(text, "GOAWAY") || strings.Contains(text, "REFUSED_STREAM"))
}

// retryAfter returns how long the response, if there was one, asked the client to wait.
func (q *request) retryAfter() (wait time.Duration) {
	if q.status != 0 {
		wait, _ = time.ParseDuration(faults[q.fault].RetryAfter + "s") // 0 for a value that is no number
	}
	return wait
}

// recorder is the transport below the client: it records each request, and sets the header that
// selects its fault.
type recorder struct {
	base   http.RoundTripper
	report *report
}

// RoundTrip records and sends a request.
func (w *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	w.checkKey(r)
	c := r.Context().Value(callKey{}).(*call)
	q := &request{at: time.Now()}
	if n := len(c.requests); n < len(c.faults) {
		q.fault = c.faults[n]
	}
	q.key = r.Header.Get("Authorization")
	c.requests = append(c.requests, q)
	passed := r.Clone(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GetConn: func(string) { q.asked.Add(1) },
		GotConn: func(httptrace.GotConnInfo) { q.got.Add(1) },
	}))
	passed.Header.Set(faultHeader, fmt.Sprint(q.fault))
	resp, err := w.base.RoundTrip(passed)
	if q.err = err; err == nil {
		q.status = resp.StatusCode
	}
	return resp, err
}

// checkKey checks that the current key goes to the base URL's origin only, and in no other header.
func (w *recorder) checkKey(r *http.Request) {
	current, _ := w.report.key(r.Context())
	header := r.Header.Clone()
	if !slices.Equal(header["Authorization"], []string{"Bearer " + current}) {
		w.report.found("key", "the current one is not in Authorization")
	}
	delete(header, "Authorization")
	w.report.searchKey("a request", fmt.Sprint(r.URL, header))
	if !strings.HasPrefix(r.URL.String(), baseURL+"/") || r.Host != "" && r.Host != r.URL.Host {
		w.report.found("key", "it is sent to %s for %q", r.URL.Host, r.Host)
	}
}

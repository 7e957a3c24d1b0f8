package chaos

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// kind is a kind of failure of one request.
type kind struct {
	name  string
	fault fake.Fault
}

var plain = &kind{name: "no failure"}

// whole reports whether the service's own response arrives completely.
func (k *kind) whole() bool {
	f := &k.fault
	return f.Status == 0 && f.Wire == "" && f.Body == nil && f.Header.Get("Content-Type") == ""
}

// retryAfter returns how long the response asks its client to wait.
func (k *kind) retryAfter() time.Duration {
	wait, _ := time.ParseDuration(k.fault.RetryAfter + "s") // 0 for a value that is no number
	return wait
}

// faults has failures that come once: before the request is carried out, unless they say otherwise.
// A response that means "not carried out", such as a 400 or a 429, is sent only if the request was
// not carried out: no client can cope with a service that is wrong about that.
var faults = []fake.Fault{
	{Status: 307, Header: http.Header{"Location": {"https://elsewhere.test/v1/pets"}}},
	{Status: 400, Message: "what is " + key + "?", Header: http.Header{"X-Echo": {key}}},
	{Status: 401},
	{Status: 403},
	{Status: 404},
	{Status: 429},
	{Status: 429, Wire: fake.WireTruncate},
	{Status: 429, RetryAfter: "soon"},
	{Status: 429, RetryAfter: "3"},
	{Status: 500, Wire: fake.WireTruncate},
	{Status: 501},
	// The value is a fraction of a second, so the fake takes it as a wait of this call, and not of all
	// clients of the key.
	{Status: 503, RetryAfter: "2.5"},
	{Delay: 2 * time.Second, AfterCommit: true, Wire: fake.WireReset},
	// These change only the response: the request is carried out.
	{Body: []byte(`{"id":1,"name":"`)},
	{Body: []byte(`{"status":"available"}`)},
	{Body: []byte("[" + strings.Repeat(" ", 2*maxBody))},
	{Header: http.Header{"Content-Type": {"text/html"}}},
	{Header: http.Header{"X-RateLimit-Limit": nil, "X-RateLimit-Remaining": nil, "X-RateLimit-Reset": nil}},
	{Header: http.Header{"X-RateLimit-Remaining": {"-1"}, "X-RateLimit-Reset": {"tomorrow"}}},
}

// kinds has all kinds of failure: faults, and what may come before or after the request is carried
// out. These are the responses whose status leaves open which it was, and all that happens on the
// wire, at once or late.
var kinds = func() (all []*kind) {
	every := faults
	for _, after := range []bool{false, true} {
		for _, status := range []int{202, 204, 408, 500, 502, 503, 504} {
			every = append(every, fake.Fault{Status: status, AfterCommit: after})
		}
		for _, wire := range append(fake.Wire("").Values(), "") {
			every = append(every, fake.Fault{Wire: wire, Delay: 700 * time.Millisecond, AfterCommit: after})
			if wire != "" {
				every = append(every, fake.Fault{Wire: wire, AfterCommit: after})
			}
		}
	}
	for _, f := range every {
		if f.Validate() == nil { // a refused connection after a commit is impossible
			all = append(all, &kind{fmt.Sprintf("%d: %v", len(all), f), f})
		}
	}
	return all
}()

// kindHeader is the header of a request by which the fake selects its failure.
const kindHeader = "Chaos-Kind"

// inject makes the service give each request the failure that its header names.
func inject(srv *fake.Server) map[string]*fake.Injection {
	injected := map[string]*fake.Injection{}
	for _, k := range kinds {
		f := k.fault
		f.Times = fake.Forever
		f.Match = func(r *http.Request) bool { return r.Header.Get(kindHeader) == k.name }
		injected[k.name] = srv.Inject(f)
	}
	return injected
}

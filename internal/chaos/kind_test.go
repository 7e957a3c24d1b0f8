package chaos

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// kindHeader is the header of a request by which the fake selects its failure.
const kindHeader = "Chaos-Kind"

// kind is a kind of failure of one request.
type kind struct {
	name  string
	fault fake.Fault
	whole bool          // the service's own response arrives completely
	slow  bool          // it takes seconds, or makes all calls wait
	stay  time.Duration // Retry-After of the response
}

var plain = &kind{name: "none", whole: true}

// kinds returns all kinds of failure. A response that means "not carried out", such as a 400 or a
// 429, comes only before the commit: no client can deal with a service that is wrong about that.
func kinds() []*kind {
	all := slices.Concat(brokenConnections(), oddResponses(), refusals())
	for _, status := range []int{408, 500, 502, 503, 504} {
		all = append(all, beforeAndAfter(fmt.Sprint(status), fake.Fault{Status: status})...)
	}
	for _, wire := range fakecontrol.Wires()[1:] {
		for _, k := range beforeAndAfter(wire.String(), fake.Fault{Wire: wire}) {
			k.whole = wire == fake.WireDrip
			all = append(all, k)
		}
	}
	all = slices.DeleteFunc(all, func(k *kind) bool { return k.fault.Validate() != nil }) // refused after commit
	return all
}

// brokenConnections returns the kinds with slow or broken connections.
func brokenConnections() []*kind {
	const late = 700 * time.Millisecond
	return []*kind{
		{name: "refuse late", slow: true, fault: fake.Fault{Wire: fake.WireRefuse, Delay: late}},
		{name: "truncate of a 500", fault: fake.Fault{Wire: fake.WireTruncate, Status: 500}},
		{name: "delay", fault: fake.Fault{Delay: late}, whole: true, slow: true},
		{name: "delay after commit", fault: fake.Fault{Delay: late, AfterCommit: true}, whole: true, slow: true},
		{
			name: "reset long after commit", slow: true,
			fault: fake.Fault{Delay: 2 * time.Second, AfterCommit: true, Wire: fake.WireReset},
		},
	}
}

// oddResponses returns the kinds with odd responses to requests that are carried out.
func oddResponses() []*kind {
	return []*kind{
		{name: "202 after commit", fault: fake.Fault{Status: 202, AfterCommit: true}},
		{name: "204 after commit", fault: fake.Fault{Status: 204, AfterCommit: true}},
		{name: "cut JSON", fault: fake.Fault{Body: []byte(`{"id":1,"name":"`)}},
		{name: "another body", fault: fake.Fault{Body: []byte(`{"status":"available"}`)}},
		{name: "flood", fault: fake.Fault{Body: []byte("[" + strings.Repeat(" ", 2*maxBody))}},
		{name: "a page", fault: fake.Fault{Header: http.Header{"Content-Type": {"text/html"}}}},
		{name: "no rate limit headers", whole: true, fault: fake.Fault{Header: http.Header{
			"X-RateLimit-Limit": nil, "X-RateLimit-Remaining": nil, "X-RateLimit-Reset": nil,
		}}},
		{name: "limits garbled", whole: true, fault: fake.Fault{Header: http.Header{
			"X-RateLimit-Remaining": {"-1"}, "X-RateLimit-Reset": {"tomorrow"},
		}}},
	}
}

// refusals returns the kinds with responses to requests that are not carried out.
func refusals() []*kind {
	elsewhere := http.Header{"Location": {"https://elsewhere.test/v1/pets"}}
	echo := fake.Fault{Status: 400, Message: "what is " + key + "?", Header: http.Header{"X-Echo": {key}}}
	return []*kind{
		{name: "400 that repeats the key", fault: echo},
		{name: "401", fault: fake.Fault{Status: 401}},
		{name: "403", fault: fake.Fault{Status: 403}},
		{name: "404", fault: fake.Fault{Status: 404}},
		{name: "501", fault: fake.Fault{Status: 501}},
		{name: "redirect", fault: fake.Fault{Status: 307, Header: elsewhere}},
		{name: "429", slow: true, fault: fake.Fault{Status: 429}},
		{name: "429 cut off", slow: true, fault: fake.Fault{Status: 429, Wire: fake.WireTruncate}},
		{name: "429 with an odd Retry-After", slow: true, fault: fake.Fault{Status: 429, RetryAfter: "soon"}},
		{
			name: "429 with Retry-After", slow: true, stay: 3 * time.Second,
			fault: fake.Fault{Status: 429, RetryAfter: "3"},
		},
		{ // a fraction: the fake does not count it as a wait for all clients of the key, only for this call
			name: "503 with Retry-After", slow: true, stay: 2500 * time.Millisecond,
			fault: fake.Fault{Status: 503, RetryAfter: "2.5"},
		},
	}
}

func beforeAndAfter(name string, f fake.Fault) []*kind {
	before, after := &kind{name: name, fault: f}, &kind{name: name + " after commit", fault: f}
	after.fault.AfterCommit = true
	return []*kind{before, after}
}

// inject makes the service give each request the failure that its header names.
func inject(srv *fake.Server, all []*kind) map[string]*fake.Injection {
	injected := map[string]*fake.Injection{}
	for _, k := range all {
		f := k.fault
		f.Times = fake.Forever
		f.Match = func(r *http.Request) bool { return r.Header.Get(kindHeader) == k.name }
		injected[k.name] = srv.Inject(f)
	}
	return injected
}

package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// report has the figures and findings of a scenario.
type report struct {
	keys      []string       // the keys that the client uses, one after another
	protocol  string         // one of protocols
	repeated  int            // number of requests that net/http sent again
	catalogue []petstore.Pet // the pets of the service at the end
	counts    map[string]int // of all scenarios

	mu       sync.Mutex
	findings []string // rules that were broken, and how
}

func (r *report) found(rule, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.findings = append(r.findings, rule+": "+fmt.Sprintf(format, args...))
}

// byCaller reports whether the client sends by a transport of its caller: then net/http may send a
// read again.
func (r *report) byCaller() bool { return r.protocol == "HTTP/1.1 of the caller" }

// key returns the current key. If there are several keys, the current key changes every 37 seconds.
func (r *report) key(context.Context) (string, error) { return r.keyAt(time.Now()), nil }

func (r *report) keyAt(t time.Time) string { return r.keys[t.Unix()/37%int64(len(r.keys))] }

// searchKey reports a text that has one of the keys in it.
func (r *report) searchKey(where, text string) {
	if slices.ContainsFunc(r.keys, func(key string) bool { return strings.Contains(text, key) }) {
		r.found("key", "it is in %s", where)
	}
}

func (r *report) Write(line []byte) (int, error) {
	r.searchKey("the log", string(line))
	return len(line), nil
}

func (r *report) check(srv *fake.Server, calls []*call) {
	r.catalogue = srv.Pets()
	for _, c := range calls {
		for _, name := range []string{"calls", c.outcome(), c.operation + " " + c.outcome()} {
			r.counts[name]++
		}
		for _, q := range c.requests {
			r.counts[fmt.Sprint("fault ", q.fault)]++
			if again := max(0, int(q.got.Load())-1); r.byCaller() || strings.HasPrefix(r.protocol, "HTTP/2") {
				r.repeated += again
			} else if again > 0 {
				r.found("repeated", "%d times over %s by net/http: %v", again, r.protocol, c)
			}
		}
		if (c.err == nil) != (c.pets != nil) {
			r.found("result", "a result and an error, or neither: %v", c)
		}
		r.checkRequests(c)
		r.checkTime(c)
		if c.err != nil {
			r.checkError(c)
		}
		if c.writes() {
			r.checkCreate(c)
		} else {
			r.checkRead(c)
		}
	}
	r.checkConduct(srv)
}

// checkConduct looks for requests over the limit, and for requests during a lockout. net/http may
// repeat a read whose connection was dead: this request may push another one over the limit. A
// request that arrives at the very time of a 429 was sent before the client knew of the 429.
func (r *report) checkConduct(srv *fake.Server) {
	limited := 0
	for _, k := range r.keys {
		limited += srv.Usage(k).Limited
	}
	if r.byCaller() && r.repeated > 0 {
		return // on each of 16 connections: that can even get the key banned
	}
	if limited > r.repeated+afterLost(srv.Requests()) {
		r.found("limit", "%d requests were over it", limited)
	}
	r.counts["over the limit"] += limited
	arrived, refused := map[int]time.Time{}, map[time.Time]bool{} // by Seq; the times of 429s
	for _, q := range srv.Requests() {
		arrived[q.Seq] = q.Time
		if q.StatusCode == http.StatusTooManyRequests {
			refused[q.Time.Add(q.Duration)] = true
		}
	}
	for _, v := range srv.Violations() {
		early := v.Rule == fake.RuleEarlyRetry && (r.repeated > 0 || refused[arrived[v.Seq]])
		if v.Rule != fake.RuleDeprecated && !early {
			r.found(string(v.Rule), "%v", v)
		}
	}
}

// afterLost counts the 429s that follow directly on a request without a response. In a used-up
// sliding window, that request may have been the only one that the window allowed, and the client
// cannot know whether it was counted.
func afterLost(all []fake.Request) (n int) {
	for i, q := range all[min(1, len(all)):] {
		if q.StatusCode == http.StatusTooManyRequests && all[i].StatusCode == 0 && q.Key == all[i].Key {
			n++
		}
	}
	return n
}

// checkRequests checks the number of requests, and that each one waited for the last Retry-After.
// The rules of the fake find a create that was repeated although it may have been carried out.
func (r *report) checkRequests(c *call) {
	n := len(c.requests)
	if n > c.retry.MaxAttempts {
		r.found("too many requests", "%d: %v", n, c)
	}
	sent := len(slices.DeleteFunc(slices.Clone(c.requests), (*request).unsent))
	if c.attempts >= 0 && c.attempts != sent {
		r.found("attempts", "%d, reported %d: %v", sent, c.attempts, c)
	}
	for i, q := range c.requests[:max(0, n-1)] {
		asked, _ := time.ParseDuration(faults[q.fault].RetryAfter + "s") // 0 for a value that is no number
		next := c.requests[i+1]
		if q.status != 0 && next.at.Sub(q.at) < asked && r.keyAt(q.at) == r.keyAt(next.at) {
			r.found("sent too early", "request %d: %v", i+2, c)
		}
	}
}

// inDoubt reports whether the request may have been carried out, as far as its status shows.
func (q *request) inDoubt() bool {
	return q.status == http.StatusRequestTimeout || q.status >= 500 && q.status != http.StatusNotImplemented
}

func (r *report) checkTime(c *call) {
	const asked = 3 * time.Second // the longest Retry-After of a response
	// In each attempt, the limiter may refuse a call up to a second after its MaxWait.
	most := c.maxWait + time.Duration(c.retry.MaxAttempts)*(time.Second+c.attemptTimeout+c.retry.MaxDelay+asked)
	most = min(most, cmp.Or(c.patience, most), cmp.Or(c.callTimeout, most))
	if n := len(c.requests); c.took > most || n > 0 && c.requests[n-1].at.After(c.began.Add(most)) {
		r.found("wait", "it may take %v: %v", most, c)
	}
}

func (r *report) checkError(c *call) {
	text := c.err.Error()
	ended := errors.Is(c.err, context.Canceled) || errors.Is(c.err, context.DeadlineExceeded)
	r.searchKey("an error of "+c.operation, fmt.Sprintf("%v %+[1]v %#[1]v", c.err))
	switch {
	case c.attempts < 0:
		r.found("error", "a %T: %v", c.err, c)
	case errors.Is(c.err, petstore.ErrNotSent) != (c.attempts == 0):
		r.found("error", "ErrNotSent after %d requests: %v", c.attempts, c)
	case len(text) > 512 || strings.ContainsAny(text, "\r\n"):
		r.found("error", "%d bytes, or several lines: %q", len(text), text)
	case ended && !c.over:
		r.found("error", "it matches the end of the caller's context, which has not ended: %v", c)
	case ended && c.over && !errors.Is(c.err, errImpatient):
		r.found("error", "it does not match the cause: %v", c)
	}
}

// checkRead compares the pets of a response with the catalogue, in which pets never change.
func (r *report) checkRead(c *call) {
	for _, pet := range c.pets {
		if !slices.Contains(r.catalogue, pet) {
			r.found("read", "the catalogue does not have %+v: %v", pet, c)
		}
	}
	if c.outcome() == unknown {
		r.found("read", "its outcome is unknown: %v", c)
	}
}

// checkCreate compares the result of a create with the catalogue and with the call's last request.
func (r *report) checkCreate(c *call) {
	stored := slices.DeleteFunc(slices.Clone(r.catalogue), func(p petstore.Pet) bool { return p.Name != c.pet.Name })
	switch outcome := c.outcome(); {
	case len(stored) > 1:
		r.found("duplicate", "the catalogue has %+v: %v", stored, c)
	case outcome == notDone && len(stored) != 0:
		r.found("not done", "the catalogue has %+v: %v", stored, c)
	case outcome == done && !slices.Equal(c.pets, stored), len(stored) == 1 && !c.asked(stored[0]):
		r.found("done", "%+v, the catalogue has %+v: %v", c.pets, stored, c)
	}
	if allowed := c.allowed(); !slices.Contains(allowed, c.outcome()) {
		r.found("outcome", "it can be %v: %v", allowed, c)
	}
}

// asked reports whether the call asked for this pet. A service may have a default status.
func (c *call) asked(pet petstore.Pet) bool {
	return pet.CategoryID == c.pet.CategoryID && (c.pet.Status == "" || pet.Status == c.pet.Status)
}

// allowed returns the outcomes that a create may have after its last request.
func (c *call) allowed() []string {
	if len(c.requests) == 0 {
		return []string{notDone}
	}
	q, patient := c.requests[len(c.requests)-1], c.patience == 0 && c.callTimeout == 0
	f := faults[q.fault]
	complete := f.Status == 0 && f.Wire == "" && f.Body == nil && f.Header.Get("Content-Type") == ""
	switch {
	case q.unsent():
		return []string{notDone}
	case q.err != nil && !patient: // the caller may have given up before anything was written
		return []string{notDone, unknown}
	case q.status == http.StatusCreated && complete:
		return []string{done}
	case q.err != nil, q.status/100 == 2, q.status/100 == 3, q.inDoubt():
		return []string{unknown}
	}
	return []string{notDone}
}

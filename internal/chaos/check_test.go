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
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// report has the figures and findings of a scenario.
type report struct {
	scenario *scenario
	counts   map[string]int            // calls by operation and outcome, requests by kind
	bodies   atomic.Int64              // number of bodies that are not closed yet
	byName   map[string][]petstore.Pet // the catalogue of the service at the end
	byID     map[int64]petstore.Pet

	mu       sync.Mutex
	findings []string // rules that were broken, and how
}

func (r *report) found(rule, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.findings = append(r.findings, rule+": "+fmt.Sprintf(format, args...))
}

// searchKey looks for the key in a text.
func (r *report) searchKey(where, text string) {
	if strings.Contains(text, key) {
		r.found("key", "it is in %s", where)
	}
}

func (r *report) count(injected map[string]*fake.Injection) {
	for name, i := range injected {
		r.counts["met "+name] = i.Fired()
	}
	for _, c := range slices.Concat(r.scenario.callers...) {
		r.counts["calls"]++
		r.counts[c.operation+" "+c.outcome()]++
	}
}

func (r *report) check(srv *fake.Server) {
	r.byName, r.byID = map[string][]petstore.Pet{}, map[int64]petstore.Pet{}
	for _, pet := range srv.Pets() {
		r.byName[pet.Name] = append(r.byName[pet.Name], pet)
		r.byID[pet.ID] = pet
	}
	wanted := map[string]bool{"Rex": true, "Ada": true}
	for _, c := range slices.Concat(r.scenario.callers...) {
		wanted[c.pet.Name] = c.writes()
		r.checkCall(c)
	}
	for name, pets := range r.byName {
		if !wanted[name] || len(pets) > 1 {
			r.found("duplicate", "%d of %q; to be created: %t", len(pets), name, wanted[name])
		}
	}
	if n := r.bodies.Load(); n != 0 {
		r.found("body", "%d are not closed", n)
	}
	r.checkConduct(srv)
}

// checkConduct looks for requests over the limit and during a lockout. It accepts a request that
// arrived at the same time as the service sent a 429: the client could not know about the 429 when
// it sent the request.
func (r *report) checkConduct(srv *fake.Server) {
	limited := srv.Usage(key).Limited
	if r.counts["requests over the limit"] = limited; limited > 0 && len(r.scenario.changes) == 0 {
		r.found("limit", "%d requests were over it, although the plan never changed", limited)
	}
	journal := srv.Requests()
	for _, v := range srv.Violations() {
		q, _ := srv.Request(v.Seq)
		atOnce := func(other fake.Request) bool {
			return other.Seq != q.Seq && other.StatusCode == http.StatusTooManyRequests &&
				other.Time.Add(other.Duration).Equal(q.Time)
		}
		switch {
		case v.Rule == fake.RuleDeprecated:
		case v.Rule == fake.RuleEarlyRetry && slices.ContainsFunc(journal, atOnce):
		default:
			r.found(string(v.Rule), "%v", v)
		}
	}
}

func (r *report) checkCall(c *call) {
	if c.panicked != nil {
		r.found("panic", "%v", c.panicked)
		return
	}
	if (c.err == nil) != (c.result != nil) {
		r.found("outcome", "a result and an error, or neither: %v", c)
	}
	r.checkRequests(c)
	r.checkTime(c)
	if c.err != nil {
		r.checkError(c)
	}
	if c.writes() {
		r.checkCreate(c)
	} else if c.result != nil {
		r.checkRead(c)
	}
}

// checkRequests checks the table of retries in the documentation of package petstore.
func (r *report) checkRequests(c *call) {
	n := len(c.requests)
	if n > c.retry.MaxAttempts {
		r.found("too many requests", "%d: %v", n, c)
	}
	sent := len(slices.DeleteFunc(slices.Clone(c.requests), (*request).untouched))
	if reported := c.attempts(); reported >= 0 && reported != sent {
		r.found("attempts", "%d, reported %d: %v", sent, reported, c)
	}
	for i, q := range c.requests {
		if i < n-1 && !q.mayBeFollowed(c.writes()) {
			r.found("sent again", "after request %d: %v", i+1, c)
		}
		if i > 0 && q.at.Sub(c.requests[i-1].at) < c.requests[i-1].kind.retryAfter() {
			r.found("sent too early", "request %d: %v", i+1, c)
		}
	}
}

// mayBeFollowed reports whether the table allows another request after q.
func (q *request) mayBeFollowed(writes bool) bool {
	switch {
	case q.untouched() || q.status == http.StatusTooManyRequests:
		return true
	case writes:
		return false
	case q.err != nil:
		return !strings.Contains(q.err.Error(), "malformed HTTP")
	case q.status == http.StatusOK:
		return !q.whole
	}
	return q.inDoubt()
}

// inDoubt reports whether the request may have been carried out, by its status.
func (q *request) inDoubt() bool {
	return q.status == http.StatusRequestTimeout || q.status >= 500 && q.status != http.StatusNotImplemented
}

// checkTime checks that the call ended in time.
func (r *report) checkTime(c *call) {
	const (
		asked = 3 * time.Second // the longest Retry-After of a response
		// WithMaxWait does not limit the wait for the response to a request that went first, of another
		// caller. That attempt takes up to 30 s, and the next request follows up to 10 s later.
		ahead = 40 * time.Second
	)
	most := c.maxWait + time.Duration(c.retry.MaxAttempts)*(c.attemptTimeout+c.retry.MaxDelay+asked+ahead)
	for _, limit := range []time.Duration{c.patience, c.callTimeout} {
		if limit > 0 {
			most = min(most, limit)
		}
	}
	if c.took > most {
		r.found("wait", "%v", c)
	}
	for i, q := range c.requests {
		if q.at.After(c.began.Add(most)) {
			r.found("sent too late", "request %d: %v", i+1, c)
		}
	}
}

func (r *report) checkError(c *call) {
	text := c.err.Error()
	if len(text) > 512 || strings.ContainsAny(text, "\r\n") {
		r.found("error", "%d bytes, or several lines: %q", len(text), text)
	}
	r.searchKey("an error of "+c.operation, fmt.Sprintf("%v %+[1]v %#[1]v", c.err))
	if c.attempts() < 0 {
		r.found("error", "a %T: %v", c.err, c)
	}
	ended := errors.Is(c.err, context.Canceled) || errors.Is(c.err, context.DeadlineExceeded)
	switch {
	case ended && !c.over && (c.callTimeout == 0 || c.took < c.callTimeout):
		r.found("error", "it matches the end of the caller's context, which has not ended: %v", c)
	case ended && c.over && !errors.Is(c.err, errImpatient):
		r.found("error", "it does not match the cause: %v", c)
	case c.outcome() == unknown && !c.writes():
		r.found("error", "a read matches ErrOutcomeUnknown: %v", c)
	}
}

// checkRead compares the pets of a response with the catalogue, in which pets never change.
func (r *report) checkRead(c *call) {
	if n := len(c.result.pets); n > cmp.Or(c.limit, 20) {
		r.found("read", "%d pets: %v", n, c)
	}
	for _, pet := range c.result.pets {
		if r.byID[pet.ID] != pet {
			r.found("read", "%+v, the catalogue has %+v: %v", pet, r.byID[pet.ID], c)
		}
	}
}

// checkCreate compares the result of a create with the catalogue and the recorded requests.
func (r *report) checkCreate(c *call) {
	stored := r.byName[c.pet.Name]
	switch outcome := c.outcome(); {
	case outcome == done && (c.result == nil || !slices.Equal(c.result.pets, stored) || !c.asWanted(stored, r.scenario)):
		r.found("done", "%+v, the catalogue has %+v: %v", c.result, stored, c)
	case outcome == notDone && len(stored) != 0:
		r.found("not done", "the catalogue has %+v: %v", stored, c)
	}
	if allowed := c.allowed(); !slices.Contains(allowed, c.outcome()) {
		r.found("outcome", "it can be %v: %v", allowed, c)
	}
}

// asWanted reports whether the pets are the one that the call asked for.
func (c *call) asWanted(pets []petstore.Pet, s *scenario) bool {
	if len(pets) != 1 || pets[0].ID <= 0 {
		return false
	}
	return pets[0] == petstore.Pet{
		ID: pets[0].ID, Name: c.pet.Name, CategoryID: c.pet.CategoryID,
		Status: cmp.Or(c.pet.Status, s.behavior.DefaultStatus),
	}
}

// allowed returns the outcomes that a create may have after the response to its last request.
func (c *call) allowed() []string {
	if len(c.requests) == 0 {
		return []string{notDone}
	}
	q := c.requests[len(c.requests)-1]
	patient := c.patience == 0 && c.callTimeout == 0
	switch {
	case q.untouched():
		return []string{notDone}
	case q.err != nil && !patient: // the caller may have given up before anything was written
		return []string{notDone, unknown}
	case q.status == http.StatusCreated && q.kind.whole() && (q.whole || patient && c.attemptTimeout >= 10*time.Second):
		return []string{done}
	case q.err != nil, q.status/100 == 2, q.status/100 == 3, q.inDoubt():
		return []string{unknown}
	}
	return []string{notDone}
}

package fake

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// Rule is a rule for clients. [Server.Violations] reports when a client broke one.
type Rule string

// The rules.
const (
	// RuleEarlyRetry is broken by a request that comes before the Retry-After of a 429 to its key
	// has passed (section 8.3). In the first second after the 429, a request may come from another
	// goroutine, on another connection, or over HTTP/2: it may have been on its way already.
	RuleEarlyRetry Rule = "early-retry"
	// RuleBanProvoked is broken by the request for which [WithBan] bans its key (section 8.3), if
	// the client had got a 429 before it sent this request.
	RuleBanProvoked Rule = "ban-provoked"
	// RuleRepeatedCreate is broken by a createPet with the same key and body as an earlier one
	// whose outcome is unknown (section 4.2). A GET in between allows it: the client may have seen
	// that the pet was not added.
	RuleRepeatedCreate Rule = "repeated-create"
	// RuleDeprecated is broken by each getPet (section 4.3).
	RuleDeprecated Rule = "deprecated-operation"
)

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{RuleEarlyRetry, RuleBanProvoked, RuleRepeatedCreate, RuleDeprecated}
}

// Violation is something that a well-behaved client does not do. It changes no response.
type Violation struct {
	Rule    Rule
	Section string // of the service document that has the rule
	Detail  string // what happened
	Seq     int    // of the [Request]
}

// String returns the violation as one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s (section %s): %s, request #%d", v.Rule, v.Section, v.Detail, v.Seq)
}

// Violations returns the first 10,000 violations, in the order in which they were noticed.
func (s *Server) Violations() []Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// addViolation is for a caller that holds mu.
func (x *exchange) addViolation(rule Rule, section, detail string) {
	if s := x.srv; len(s.violations) < 10_000 {
		s.violations = append(s.violations, Violation{rule, section, detail, x.entry.Seq})
	}
}

// conduct is the state of a key that the rules for clients need.
type conduct struct {
	got429         bool           // a client got a 429 since the last request that was counted
	retryAt        time.Time      // until when a 429 asked the client to wait
	notifiedAt     time.Time      // when the 429 that began this wait was sent
	notifiedSender string         // the sender that got this 429; empty if it is not known
	lastSender     string         // see noteSender; if requests overlap, a violation may name another of them
	underWay       int            // number of requests that have no response yet
	overlapped     bool           // another one was under way when lastSender sent: a 429 may be for either
	doubtful       map[string]int // Seq of each create of unknown outcome, by its body
}

// sentAfter429 reports whether the client must have known of the last 429 when it sent a request
// that arrives now. A request of another goroutine may have been on its way for up to a second.
func (k *apiKey) sentAfter429() bool {
	return k.lastSender == k.notifiedSender || k.now.Sub(k.notifiedAt) >= time.Second
}

// noteSender notes the number of the current goroutine as the sender of the request. In memory, the
// client sends in this goroutine. Otherwise each connection, or over HTTP/2 each request, has a
// goroutine of its own.
func (x *exchange) noteSender() {
	if x.key == nil {
		return
	}
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	x.key.lastSender = strings.Fields(goroutine())[1]
	x.key.underWay++
	x.key.overlapped = x.key.underWay > 1
}

// checkArrival looks for rules that a request breaks when it arrives.
func (x *exchange) checkArrival() {
	k := x.key
	k.syncClock() // this also ends the wait if the clock went back
	if early := k.retryAt.Sub(k.now); early > 0 && k.sentAfter429() {
		x.addViolation(RuleEarlyRetry, "8.3",
			fmt.Sprintf("a request came %v before the Retry-After of its key had passed", early.Round(time.Second/10)))
	}
	if x.operation.Name == petstore.OpGetPet {
		x.addViolation(RuleDeprecated, "4.3", "getPet is removed on 5 December 2030; listPets takes its place")
	}
	if x.req.Method == http.MethodGet {
		clear(k.doubtful) // the client has looked at the catalogue, and may send a create again
	}
	seq := k.doubtful[string(x.entry.Body)]
	if seq != 0 && x.operation.Name == petstore.OpCreatePet {
		x.addViolation(RuleRepeatedCreate, "4.2",
			fmt.Sprintf("the same createPet as request #%d, whose outcome was unknown to the client", seq))
	}
}

// remember keeps the wait that a 429 asks for, and a create of unknown outcome. It ignores the
// Retry-After of a 503, which concerns only the call that got the 503.
func (k *apiKey) remember(x *exchange, resp response) {
	now := k.srv.Now()
	reached := resp.status != 0 && x.req.Context().Err() == nil
	if resp.status == http.StatusTooManyRequests && reached {
		k.got429 = true
		if !now.Before(k.retryAt) {
			k.notifiedAt, k.notifiedSender = now, k.lastSender
			if k.overlapped {
				k.notifiedSender = ""
			}
		}
		// A number of seconds counts from the start of this second, as in tooManyRequests.
		if until := retryAfter(resp.header.Get("Retry-After"), now.Truncate(time.Second)); until.After(k.retryAt) {
			k.retryAt = until
		}
	}
	k.underWay = max(k.underWay-1, 0) // it is 0 already if the key was added after the request was sent
	if x.operation.Name == petstore.OpCreatePet && x.outcomeUnknown(resp.status, reached) && len(k.doubtful) < 1_000 {
		k.doubtful[string(x.entry.Body)] = x.entry.Seq
	}
}

// outcomeUnknown reports whether the client of a create cannot know if the pet was added.
func (x *exchange) outcomeUnknown(status int, reached bool) bool {
	if reached && status == http.StatusCreated {
		return x.fault.Wire != "" // a cut off body, or another page
	}
	return !reached || status < 400 || // a 303 may follow a create that was carried out
		status == http.StatusRequestTimeout || status >= 500 && status != http.StatusNotImplemented
}

// retryAfter returns the time until which a Retry-After header asks its client to wait, zero if it
// asks for none, or for more than a year: such a number may be a Unix time.
func retryAfter(value string, now time.Time) time.Time {
	const year = 366 * 24 * time.Hour
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds < year.Seconds() {
		return now.Add(time.Duration(seconds * float64(time.Second)))
	}
	date, _ := http.ParseTime(value)
	return date
}

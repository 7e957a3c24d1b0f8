package fake

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// Rule is a rule for clients, which [Server.Violations] reports if it is broken.
type Rule string

// The rules.
const (
	// RuleEarlyRetry is broken by a request before the time that the last Retry-After of its key
	// named (section 8.3). Within a second of the 429, a request is allowed if it comes from
	// another goroutine, on another connection, or over HTTP/2: it may have been on its way.
	RuleEarlyRetry Rule = "early-retry"
	// RuleBanProvoked is broken by a request that makes [WithBan] ban its key (section 8.3), if the
	// client had got a 429.
	RuleBanProvoked Rule = "ban-provoked"
	// RuleRepeatedCreate is broken by a key that sends the same createPet again, without a look at
	// the catalogue, after a response that leaves open whether the pet was added (section 4.2).
	RuleRepeatedCreate Rule = "repeated-create"
	// RuleDeprecated is broken by a call of getPet (section 4.3).
	RuleDeprecated Rule = "deprecated-operation"
)

// Values returns all rules.
func (Rule) Values() []Rule {
	return []Rule{RuleEarlyRetry, RuleBanProvoked, RuleRepeatedCreate, RuleDeprecated}
}

// Violation is something that a well-behaved client does not do. It changes no response.
type Violation struct {
	Rule    Rule
	Section string // of the service document, where the rule comes from
	Detail  string // what happened
	Seq     int    // of the [Request]
}

// String returns the violation as one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s (section %s): %s, request #%d", v.Rule, v.Section, v.Detail, v.Seq)
}

// Violations returns the first 10,000 violations, in the order in which they were noticed.
func (s *Server) Violations() []Violation {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return slices.Clone(s.journal.violations)
}

// addViolation notes that the client broke a rule.
func (x *exchange) addViolation(rule Rule, section, detail string) {
	j := &x.srv.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.violations) < 10_000 {
		j.violations = append(j.violations, Violation{rule, section, detail, x.entry.Seq})
	}
}

// conduct is what the rules for clients need to know about a key. The lock of the key guards it.
type conduct struct {
	got429         bool           // a client got a 429 since the last request that was admitted
	retryAt        time.Time      // until when a 429 asked the client to wait
	notifiedAt     time.Time      // when the first response with that wait was sent
	notifiedSender string         // to which it was sent; empty if several requests were under way
	sender         string         // of the last request
	underWay       int            // requests that have no response
	doubtful       map[string]int // Seq of the creates of unknown outcome, by their bodies
}

// sentAfter429 reports whether the client must have known of the last 429 when it sent a request
// that arrives now. Another goroutine may have sent it up to a second ago, before the client heard
// of the 429.
func (k *apiKey) sentAfter429(now time.Time) bool {
	return k.sender == k.notifiedSender || now.Sub(k.notifiedAt) >= time.Second
}

// noteSender notes the number of the goroutine that sends a request. For a client in memory that is
// a goroutine of the client, otherwise that of the connection or, over HTTP/2, of the request.
func (x *exchange) noteSender() {
	k := x.key
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sender = strings.Fields(goroutine())[1]
	k.underWay++
}

// noteRequest looks for a rule that a request breaks when it arrives.
func (k *apiKey) noteRequest(x *exchange) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.syncClock() // which ends the wait if the clock went back
	if early := k.retryAt.Sub(now); early > 0 && k.sentAfter429(now) {
		x.addViolation(RuleEarlyRetry, "8.3",
			fmt.Sprintf("the key came back %v before its Retry-After had passed", early.Round(time.Second/10)))
	}
	if x.req.Method == http.MethodGet {
		clear(k.doubtful) // its client has looked at the catalogue, and may decide
	}
	seq := k.doubtful[string(kept(x.body))]
	if seq != 0 && x.operation.Name == petstore.OpCreatePet {
		x.addViolation(RuleRepeatedCreate, "4.2",
			fmt.Sprintf("the same createPet as #%d, whose outcome its client could not know", seq))
	}
}

// noteResponse notes until when a 429 asks its client to wait, and creates of unknown outcome. The
// Retry-After of a 503 concerns only the call that got it.
func (k *apiKey) noteResponse(x *exchange, resp *response, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	reached := !resp.lost && x.req.Context().Err() == nil
	if resp.status == http.StatusTooManyRequests && reached {
		k.got429 = true
		if !now.Before(k.retryAt) {
			k.notifiedAt, k.notifiedSender = now, k.sender
			if k.underWay > 1 {
				k.notifiedSender = ""
			}
		}
		// A number of seconds counts from the start of this second, as in tooManyRequests.
		if until := retryAfter(resp.header.Get("Retry-After"), now.Truncate(time.Second)); until.After(k.retryAt) {
			k.retryAt = until
		}
	}
	k.underWay = max(k.underWay-1, 0) // it is 0 if the key was added while the request was on its way
	if x.operation.Name == petstore.OpCreatePet && x.outcomeUnknown(resp, reached) && len(k.doubtful) < 1_000 {
		k.doubtful[string(kept(x.body))] = x.entry.Seq
	}
}

// outcomeUnknown reports whether the client of a create cannot know if the pet was added.
func (x *exchange) outcomeUnknown(resp *response, reached bool) bool {
	if reached && resp.status == http.StatusCreated {
		return x.fault.Wire != "" // its body is cut off
	}
	return !reached || resp.status < 400 || // a 303 may follow a create that was carried out
		resp.status == http.StatusRequestTimeout || resp.status >= 500 && resp.status != http.StatusNotImplemented
}

// retryAfter returns the time until which a Retry-After header asks its client to wait, zero if it
// asks for none. A number of more than a year is a Unix time, as for the client.
func retryAfter(value string, now time.Time) time.Time {
	const year = 366 * 24 * time.Hour
	if wait, err := time.ParseDuration(value + "s"); err == nil && wait > year {
		return time.Unix(0, 0).Add(wait)
	} else if err == nil {
		return now.Add(wait)
	}
	date, _ := http.ParseTime(value)
	return date
}

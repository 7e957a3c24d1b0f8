package fake

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// TB is the part of testing.TB that [NewTestServer] needs. It keeps package testing out of programs
// that use package fake without being tests.
type TB interface {
	Helper()
	Name() string
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

// NewTestServer returns a server for a test, which closes itself at the end of the test. The test
// fails if an injected fault never struck, if [Fault.Match] or a handler panicked and, with
// [WithStrict], if a client misbehaved. A failed test gets the last 100 requests in its log.
func NewTestServer(tb TB, opts ...Option) *Server {
	tb.Helper()
	s := NewServer(opts...)
	tb.Cleanup(func() {
		tb.Helper()
		s.Close()
		s.report(tb)
	})
	return s
}

// report fails the test if something happened that must not.
func (s *Server) report(tb TB) {
	tb.Helper()
	for _, f := range s.faults.unfired() {
		tb.Errorf("fake: an injected fault never struck: %s", f)
	}
	s.journal.mu.Lock() // a handler that hangs may still panic
	panics := slices.Clone(s.journal.panics)
	s.journal.mu.Unlock()
	for _, p := range panics {
		tb.Errorf("fake: the handling of a request panicked: %s", p)
	}
	for _, v := range s.Violations() {
		if s.config.strict && !slices.Contains(s.config.allowed, v.Rule) {
			tb.Errorf("fake: %v", v)
		}
	}
	if tb.Failed() {
		tb.Logf("%s", transcript(tb.Name(), s.Requests()))
	}
}

// transcript writes the end of the journal, a line for each request, with the time since the first.
func transcript(test string, all []Request) string {
	text := fmt.Sprintf("fake: the server of %s served %d requests", test, len(all))
	for _, r := range all[max(len(all)-100, 0):] {
		text += fmt.Sprintf("\n\t+%v %v", r.Time.Sub(all[0].Time).Round(time.Millisecond), r)
	}
	return text
}

// Rule is a rule for clients, which [Server.Violations] reports if it is broken.
type Rule string

// The rules.
const (
	// RuleEarlyRetry is broken by a request before the time that the last Retry-After of its key
	// named (section 8.3). If several goroutines use the key, it may come in the first second: it may
	// have been on its way.
	RuleEarlyRetry Rule = "early-retry"
	// RuleBanProvoked is broken by the request for which [WithBan] bans its key (section 8.3), if
	// the client got a 429 before it.
	RuleBanProvoked Rule = "ban-provoked"
	// RuleRepeatedCreate is broken by a key that sends the same createPet again, without a look at the
	// catalogue, after a response that leaves open whether the pet was added (section 4.2).
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
	Seq     int    // that of the [Request]
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

// note adds a violation.
func (x *exchange) note(rule Rule, section, detail string) {
	j := &x.srv.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.violations) < 10_000 {
		j.violations = append(j.violations, Violation{rule, section, detail, x.entry.Seq})
	}
}

// outcomeUnknown reports whether the client of a create cannot know if the pet was added.
func (x *exchange) outcomeUnknown(a *response, reached bool) bool {
	if reached && a.status == http.StatusCreated {
		return x.fault.Wire != "" // its body is cut off
	}
	return !reached || a.status < 400 || // a 303 is what follows a create
		a.status == http.StatusRequestTimeout || a.status >= 500 && a.status != http.StatusNotImplemented
}

// retryAfter returns the time until which a Retry-After header asks its client to wait, zero if it
// asks for none.
func retryAfter(value string, now time.Time) time.Time {
	if wait, err := time.ParseDuration(value + "s"); err == nil {
		return now.Add(wait)
	}
	date, _ := http.ParseTime(value)
	return date
}

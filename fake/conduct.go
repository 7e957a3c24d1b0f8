package fake

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/internal/service"
)

// Rule is a rule for clients, which [Server.Violations] reports if it is broken.
type Rule string

// The rules.
const (
	// RuleEarlyRetry is broken by a request before the time that the last Retry-After of its key
	// named (section 8.3).
	RuleEarlyRetry Rule = "early-retry"
	// RuleBanProvoked is broken by the request for which [WithBan] bans its key (section 8.3), if
	// the client got a 429 before it.
	RuleBanProvoked Rule = "ban-provoked"
	// RuleRepeatedCreate is broken by a key that sends the same createPet again after a response
	// that leaves open whether the pet was added, without having looked at the catalogue in between
	// (section 4.2).
	RuleRepeatedCreate Rule = "repeated-create"
	// RuleUnknownName is broken by a query parameter that the operation does not have (section 4), and
	// by a field that NewPet does not have (section 2).
	RuleUnknownName Rule = "unknown-name"
	// RuleDeprecated is broken by a call of getPet (section 4.3).
	RuleDeprecated Rule = "deprecated-operation"
	// RuleKeyExposed is broken by a URL with an API key that the server knows in it, where logs and
	// proxies keep it (section 5). Keys of less than 6 characters are not looked for.
	RuleKeyExposed Rule = "key-exposed"
	// RuleZeroCategory is broken by a createPet with the categoryId 0 (section 2), which only
	// [WithStrict] looks for. It is a legal value, and also what a missing categoryId becomes when
	// a program decodes JSON into a petstore.NewPet.
	RuleZeroCategory Rule = "zero-category"
)

// Values returns all rules.
func (Rule) Values() []Rule {
	return []Rule{
		RuleEarlyRetry, RuleBanProvoked, RuleRepeatedCreate, RuleUnknownName, RuleZeroCategory,
		RuleDeprecated, RuleKeyExposed,
	}
}

const (
	maxViolations = 10_000 // in memory
	maxUnknown    = 1_000  // creates of unknown outcome, of one key
)

// Violation is something that a well-behaved client does not do. The server serves the
// request all the same.
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

// Violations returns the first 10,000 violations, in the order in which they were noticed. Requests
// that were already in flight when a 429 was sent count as early when they arrive after it. The
// result is the caller's own.
func (s *Server) Violations() []Violation {
	keys := s.keys.known()
	s.journal.mu.Lock()
	violations := slices.Clone(s.journal.violations)
	s.journal.mu.Unlock()
	for i := range violations {
		violations[i].Detail = safetext.Redact(violations[i].Detail, keys...)
	}
	return violations
}

// note adds a violation, unless the request is an operator's.
func (x *exchange) note(rule Rule, section, detail string) {
	if x.repeat != nil {
		return
	}
	j := &x.srv.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.violations) < maxViolations {
		j.violations = append(j.violations, Violation{rule, section, detail, x.entry.Seq})
	}
}

func (x *exchange) noteParameters(values url.Values, has ...string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(has, name) {
			x.note(RuleUnknownName, "4", fmt.Sprintf("%s has no parameter %s", x.route.operation, quote(name)))
		}
	}
}

func (x *exchange) checkConduct() {
	if uri := x.entry.Path; safetext.Redact(uri, x.srv.keys.known()...) != uri {
		x.note(RuleKeyExposed, "5", "the URL has an API key in it")
	}
	k := x.key
	if k == nil || x.repeat != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.update() // which ends the wait if the clock went back
	if early := k.retryAt.Sub(now); early > 0 {
		x.note(RuleEarlyRetry, "8.3",
			fmt.Sprintf("the key came back %v before its Retry-After had passed", early.Round(time.Microsecond)))
	}
	if x.method == http.MethodGet {
		clear(k.unknown) // with a look at the catalogue a client learns the outcome
	}
	if len(k.unknown) == 0 {
		return
	}
	if seq := k.unknown[sha256.Sum256(x.body)]; seq != 0 {
		x.note(RuleRepeatedCreate, "4.2",
			fmt.Sprintf("the same createPet as #%d, whose outcome its client could not know", seq))
	}
}

// noteResponse notes until when a 429 asks its client to wait, and whether the client cannot know
// if a create was carried out. The Retry-After of a 503 concerns only the call that got it.
func (x *exchange) noteResponse(a *response, now time.Time) {
	k := x.key
	if k == nil || x.repeat != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if a.status == http.StatusTooManyRequests && a.sent() && x.req.Context().Err() == nil {
		k.got429 = true
		// Seconds count from the whole second, as the server counts them.
		until := service.RetryAfter(a.header.Get("Retry-After"), now.Truncate(time.Second))
		if until.After(k.retryAt) {
			k.retryAt = until
		}
	}
	if x.route.operation == petstore.OpCreatePet && outcomeUnknown(x, a) && len(k.unknown) < maxUnknown {
		k.unknown[sha256.Sum256(x.body)] = x.entry.Seq
	}
}

// outcomeUnknown reports whether the client of a create cannot know if the pet was added. The
// client of a body that drips knows it at the end of the body: see delivered.
func outcomeUnknown(x *exchange, a *response) bool {
	switch {
	case !a.sent() || x.req.Context().Err() != nil: // the client is gone
		return true
	case a.status == http.StatusCreated:
		return a.fault.Wire != "" || a.fault.Drip > 0
	case a.status < 400, a.status == http.StatusRequestTimeout: // 303 is what follows a create
		return true
	}
	return a.status >= http.StatusInternalServerError && a.status != http.StatusNotImplemented
}

// delivered forgets a create of unknown outcome: its client gets the last byte of the response.
func (x *exchange) delivered() {
	if k := x.key; k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.unknown, sha256.Sum256(x.body))
	}
}

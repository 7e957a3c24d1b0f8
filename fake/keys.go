package fake

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
)

// Plan has the numbers of requests that an API key may send (section 8.1); 0 means unlimited. Write
// an Enterprise plan as a literal, such as Plan{PerMinute: 2_000}.
type Plan struct {
	PerMinute int `json:"perMinute"`
	PerDay    int `json:"perDay"`
}

// The plans of section 8.1 with fixed limits.
var (
	PlanFree     = Plan{60, 1_000}
	PlanPro      = Plan{300, 10_000}
	PlanBusiness = Plan{1_000, 100_000}
)

var planNames = map[Plan]string{PlanFree: "free", PlanPro: "pro", PlanBusiness: "business"}

// String returns the name of the plan, such as "free" or "enterprise:2000,0".
func (p Plan) String() string {
	return cmp.Or(planNames[p], fmt.Sprintf("enterprise:%d,%d", p.PerMinute, p.PerDay))
}

// problem returns an error for a negative limit, which would otherwise mean no limit.
func (p Plan) problem() error {
	return errorIf(p.PerMinute < 0 || p.PerDay < 0,
		"the plan allows %d requests per minute and %d per day; 0 means no limit", p.PerMinute, p.PerDay)
}

// apiKey is an API key of the server. The lock of the server guards it.
type apiKey struct {
	srv     *Server
	text    string
	number  int // from 1
	plan    Plan
	revoked bool

	now         time.Time // when syncClock last read the clock
	minute, day window
	bannedUntil time.Time // zero: not banned
	streak      int       // 429 responses since the last request that was counted
	limited     int       // 429 responses so far
	conduct
}

func (s *Server) newKey(text string, number int, plan Plan) *apiKey {
	k := &apiKey{srv: s, text: text, number: number, plan: plan}
	k.doubtful = make(map[string]int)
	k.restart()
	return k
}

// addKey is AddKey for a caller that holds mu.
func (s *Server) addKey(text string, plan Plan) {
	if old := s.findKey(text); old != nil {
		s.keys[old.number-1] = s.newKey(text, old.number, plan)
		return
	}
	s.keys = append(s.keys, s.newKey(text, len(s.keys)+1, plan))
}

// findKey returns a key that the server knows, revoked or not. It returns nil for an unknown key.
// The caller holds mu.
func (s *Server) findKey(text string) *apiKey {
	for _, k := range s.keys {
		if k.text == text {
			return k
		}
	}
	return nil
}

// readToken returns the bearer token of a request (section 5), or nothing.
func readToken(h http.Header) string {
	values := h["Authorization"]
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(token, " ")
}

// unauthorized repeats nothing of the header, which may hold a real key.
func (x *exchange) unauthorized() response {
	problem := "the API key is not known to the server, or was revoked"
	if x.token == "" {
		problem = "there is not one Authorization header with Bearer and a key"
	}
	resp := refusal(http.StatusUnauthorized,
		"%s; every operation requires a valid key as a bearer token (section 5)", problem)
	resp.header.Set("Www-Authenticate", "Bearer")
	return resp
}

// mustBeKey panics on a key that no client can send.
func mustBeKey(where, key string) {
	problem := credential.KeyProblem(key)
	panicUnless(problem == "", where, "the key %s", problem)
}

// APIKey returns the default key: [DefaultAPIKey], or the key of [WithAPIKey].
func (s *Server) APIKey() string { return s.config.keys[0].text }

// Keys returns the API keys that the server knows, also revoked keys. The first key has the number
// 1 in [Request.Key]. A key that is revoked, or added again, keeps its number.
func (s *Server) Keys() (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.keys {
		keys = append(keys, k.text)
	}
	return keys
}

// AddKey makes the server accept an API key on a plan. A known key starts again as a new one, even
// if it was revoked.
func (s *Server) AddKey(key string, plan Plan) {
	mustBeKey("AddKey", key)
	panicOn("AddKey", plan.problem())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addKey(key, plan)
}

// withKey calls f with a key that the server knows, revoked or not, while it holds mu. It panics
// for an unknown key.
func (s *Server) withKey(where, key string, f func(*apiKey)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.findKey(key)
	panicUnless(k != nil, where, "the server does not know this key; WithKey and AddKey add keys")
	f(k)
}

// SetPlan puts a key on another plan. Requests stay counted, but a wait after a 429 ends.
func (s *Server) SetPlan(key string, plan Plan) {
	panicOn("SetPlan", plan.problem())
	s.withKey("SetPlan", key, func(k *apiKey) { k.plan, k.retryAt = plan, time.Time{} })
}

// RevokeKey makes a key invalid: requests with it get 401 from now on.
func (s *Server) RevokeKey(key string) {
	s.withKey("RevokeKey", key, func(k *apiKey) { k.revoked = true })
}

// BanKey bans a key for d from now (section 8.3); 0 ends a ban. During a ban, X-RateLimit-Reset is
// the end of the minute: a client recognises a ban by a Retry-After that reaches beyond it.
func (s *Server) BanKey(key string, d time.Duration) {
	mustNotBeNegative("BanKey", d)
	s.withKey("BanKey", key, func(k *apiKey) {
		k.syncClock()
		if d > 0 {
			k.ban(d)
		} else {
			k.bannedUntil, k.retryAt = time.Time{}, time.Time{}
		}
	})
}

// SetUsage sets how many requests count in the key's current minute and day, as if all of them came
// now.
func (s *Server) SetUsage(key string, minute, day int) {
	mustNotBeNegative("SetUsage", min(minute, day))
	s.withKey("SetUsage", key, func(k *apiKey) {
		k.syncClock()
		k.minute.set(minute)
		k.day.set(day)
	})
}

// Usage is how much of its limits an API key has used.
type Usage struct {
	Plan    Plan `json:"plan"`
	Revoked bool `json:"revoked"` // requests with the key get 401
	Minute  int  `json:"minute"`  // requests counted in the current minute
	Day     int  `json:"day"`     // requests counted in the current day
	// MinuteReset and DayReset are X-RateLimit-Reset for the minute and for the day.
	MinuteReset time.Time `json:"minuteReset,omitzero"`
	DayReset    time.Time `json:"dayReset,omitzero"`
	BannedUntil time.Time `json:"bannedUntil,omitzero"` // zero if the key is not banned
	Limited     int       `json:"limited"`              // 429 responses so far, faults not included
}

// Usage returns how much of its limits a key has used; for an unknown key, the zero Usage.
func (s *Server) Usage(key string) Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.findKey(key)
	if k == nil {
		return Usage{}
	}
	k.syncClock()
	return Usage{
		Plan: k.plan, Revoked: k.revoked, Minute: k.minute.used, Day: k.day.used,
		MinuteReset: time.Unix(k.minute.reset(), 0).UTC(), DayReset: time.Unix(k.day.reset(), 0).UTC(),
		BannedUntil: k.bannedUntil, Limited: k.limited,
	}
}

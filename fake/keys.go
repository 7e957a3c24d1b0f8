package fake

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

type keyring struct {
	srv   *Server
	mu    sync.RWMutex
	keys  map[string]*apiKey
	texts []string // the keys in the order of their numbers
}

type apiKey struct {
	srv     *Server
	number  int // from 1; it never changes
	revoked atomic.Bool

	mu          sync.Mutex
	plan        Plan
	minute, day window
	lastNow     time.Time // when the clock was last read
	bannedUntil time.Time
	streak      int // 429 responses since the last request that was admitted
	limited     int // 429 responses so far
	conduct
}

// put puts the key on a plan. A known key starts again, with its number. The caller holds mu.
func (r *keyring) put(key string, plan Plan) {
	if r.keys[key] == nil {
		r.texts = append(r.texts, key)
	}
	k := &apiKey{srv: r.srv, number: slices.Index(r.texts, key) + 1, plan: plan}
	k.restart()
	k.doubtful = make(map[string]int)
	r.keys[key] = k
}

// reset replaces all keys in one step, so that no request finds only some of them.
func (r *keyring) reset(keys []keyPlan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys, r.texts = make(map[string]*apiKey), nil
	for _, k := range keys {
		r.put(k.key, k.plan)
	}
}

// find returns a key that the server knows, revoked or not. It returns nil for an unknown key.
func (r *keyring) find(key string) *apiKey {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.keys[key]
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
func (s *Server) APIKey() string { return s.config.keys[0].key }

// Keys returns the API keys that the server knows, also revoked keys. The first key has the number
// 1 in [Request.Key]. A key that is revoked, or added again, keeps its number.
func (s *Server) Keys() []string {
	s.keys.mu.RLock()
	defer s.keys.mu.RUnlock()
	return slices.Clone(s.keys.texts)
}

// AddKey makes the server accept an API key on a plan. A known key starts again as a new one, even
// if it was revoked.
func (s *Server) AddKey(key string, plan Plan) {
	mustBeKey("AddKey", key)
	panicOn("AddKey", plan.problem())
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	s.keys.put(key, plan)
}

// mustFind returns a key that the server knows, revoked or not. It panics for an unknown key.
func (s *Server) mustFind(where, key string) *apiKey {
	k := s.keys.find(key)
	panicUnless(k != nil, where, "the server does not know this key; WithKey and AddKey add keys")
	return k
}

// SetPlan puts a key on another plan. Requests stay counted, but a wait after a 429 ends.
func (s *Server) SetPlan(key string, plan Plan) {
	panicOn("SetPlan", plan.problem())
	k := s.mustFind("SetPlan", key)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.plan, k.retryAt = plan, time.Time{}
}

// RevokeKey makes a key invalid: requests with it get 401 from now on.
func (s *Server) RevokeKey(key string) { s.mustFind("RevokeKey", key).revoked.Store(true) }

// BanKey bans a key for d from now (section 8.3); 0 ends a ban. During a ban, X-RateLimit-Reset is
// the end of the minute: a client recognises a ban by a Retry-After that reaches beyond it.
func (s *Server) BanKey(key string, d time.Duration) {
	mustNotBeNegative("BanKey", d)
	k := s.mustFind("BanKey", key)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.syncClock()
	if d == 0 {
		k.bannedUntil, k.streak = time.Time{}, 0
		k.retryAt, k.got429 = time.Time{}, false
		return
	}
	k.ban(now, d)
}

// SetUsage sets how many requests count in the key's current minute and day, as if all of them came
// now.
func (s *Server) SetUsage(key string, minute, day int) {
	mustNotBeNegative("SetUsage", min(minute, day))
	k := s.mustFind("SetUsage", key)
	k.mu.Lock()
	defer k.mu.Unlock()
	sec := k.syncClock().Unix()
	k.minute.set(minute, sec)
	k.day.set(day, sec)
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
	k := s.keys.find(key)
	if k == nil {
		return Usage{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	sec := k.syncClock().Unix()
	return Usage{
		Plan: k.plan, Revoked: k.revoked.Load(),
		Minute: k.minute.count, Day: k.day.count,
		MinuteReset: time.Unix(k.minute.reset(sec), 0).UTC(),
		DayReset:    time.Unix(k.day.reset(sec), 0).UTC(),
		BannedUntil: k.bannedUntil,
		Limited:     k.limited,
	}
}

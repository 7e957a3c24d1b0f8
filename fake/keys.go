package fake

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
)

type keyring struct {
	srv    *Server
	unused use // each key begins with a copy
	mu     sync.RWMutex
	keys   map[string]*apiKey // revoked ones stay, for the journal to redact
	texts  []string           // the keys in the order of their numbers; replaced, never changed
}

type apiKey struct {
	srv     *Server
	number  int // from 1; it never changes
	revoked atomic.Bool

	mu   sync.Mutex
	plan Plan
	use
}

// use is what was sent with a key, and what that led to.
type use struct {
	minute, day window
	lastNow     time.Time // when the clock was last read
	bannedUntil time.Time
	banReason   string
	streak      int       // 429 responses since the last request that was admitted
	got429      bool      // a client got one of them, not only a repeat by an operator
	limited     int       // 429 responses so far
	retryAt     time.Time // until when a 429 asked the client to wait
	// unknown are the creates of unknown outcome, by the digest of their bodies, with their Seq.
	unknown map[[sha256.Size]byte]int
}

// put puts the key on a plan with unused windows, and brings a revoked key back. The caller holds
// mu.
func (r *keyring) put(key string, plan Plan) {
	if r.keys[key] == nil {
		r.texts = append(slices.Clip(r.texts), key)
	}
	k := &apiKey{srv: r.srv, number: slices.Index(r.texts, key) + 1, plan: plan, use: r.unused}
	k.unknown = make(map[[sha256.Size]byte]int)
	r.keys[key] = k
}

// reset replaces all keys at once: no request finds only a part of them.
func (r *keyring) reset(keys []keyPlan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys, r.texts = make(map[string]*apiKey), nil
	for _, k := range keys {
		r.put(k.key, k.plan)
	}
}

// lookup returns a key, nil if there is no such key. It may be revoked.
func (r *keyring) lookup(key string) *apiKey {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.keys[key]
}

// known returns every key that the server knows, by their numbers.
func (r *keyring) known() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.texts
}

func (x *exchange) authenticate() {
	x.token, x.problem = readToken(x.req.Header)
	if k := x.srv.keys.lookup(x.token); k != nil && !k.revoked.Load() {
		x.key = k
	}
}

// readToken returns the bearer token of a request (section 5), or why it has none. Nothing of the
// header goes into the problem, since it may hold a real key.
func readToken(h http.Header) (token, problem string) {
	values := h["Authorization"]
	switch len(values) {
	case 0:
		return "", "the Authorization header is missing"
	case 1:
	default:
		return "", "there is more than one Authorization header"
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", "the Authorization header is not of the Bearer scheme"
	}
	token = strings.Trim(token, " ")
	if token == "" {
		return "", "the Authorization header has no key after Bearer"
	}
	return token, ""
}

func unauthorized(x *exchange) response {
	problem := cmp.Or(x.problem, "the API key is not known to the server, or was revoked")
	a := refusal(http.StatusUnauthorized, "%s; every operation requires a valid key as a bearer token (section 5)", problem)
	a.header.Set("Www-Authenticate", "Bearer")
	return a
}

// mustBeKey panics on a key that no client can send, without repeating it.
func mustBeKey(where, key string) {
	problem := credential.KeyProblem(key)
	must(problem == "", where, "the key %s", problem)
}

// APIKey returns the default key: [DefaultAPIKey], or that of [WithAPIKey].
func (s *Server) APIKey() string { return s.config.keys[0].key }

// Keys returns the API keys that the server knows, revoked ones included. The first has the number
// 1 in [Request.Key]. A key that is revoked, or added again, keeps its number.
func (s *Server) Keys() []string { return slices.Clone(s.keys.known()) }

// AddKey makes the server accept an API key on a plan. A key that it knows already begins anew,
// even if it was revoked.
func (s *Server) AddKey(key string, plan Plan) {
	mustBeKey("AddKey", key)
	mustBePlan("AddKey", plan)
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	s.keys.put(key, plan)
}

// mustFind returns a key that the server knows, revoked or not, and panics if there is none.
func (s *Server) mustFind(where, key string) *apiKey {
	k := s.keys.lookup(key)
	must(k != nil, where, "the server does not know this key; WithKey and AddKey add keys")
	return k
}

// SetPlan puts a key on another plan. Requests that were counted stay counted; a wait that a 429
// asked for ends.
func (s *Server) SetPlan(key string, plan Plan) {
	mustBePlan("SetPlan", plan)
	k := s.mustFind("SetPlan", key)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.plan, k.retryAt = plan, time.Time{}
}

// RevokeKey makes a key invalid: requests with it get 401 from now on.
func (s *Server) RevokeKey(key string) { s.mustFind("RevokeKey", key).revoked.Store(true) }

// BanKey bans a key for d from now (section 8.3); 0 ends a ban. [Behavior.BanReset] decides what
// the headers of a banned key say.
func (s *Server) BanKey(key string, d time.Duration) {
	must(d >= 0, "BanKey", "%v is a negative duration; 0 lifts a ban", d)
	k := s.mustFind("BanKey", key)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.update()
	if d == 0 {
		k.bannedUntil, k.retryAt, k.streak, k.got429 = time.Time{}, time.Time{}, 0, false
		return
	}
	k.ban(now, d, "on demand")
}

// SetUsage sets how many requests count in the current minute and day of the key, as if they were
// sent now. With as many as the plan allows, the window is used up.
func (s *Server) SetUsage(key string, minute, day int) {
	must(minute >= 0 && day >= 0, "SetUsage", "%d and %d: there is a negative number of requests", minute, day)
	k := s.mustFind("SetUsage", key)
	k.mu.Lock()
	defer k.mu.Unlock()
	sec := k.update().Unix()
	k.minute.set(minute, sec)
	k.day.set(day, sec)
}

// Usage is how much of its limits an API key has used.
type Usage struct {
	Plan    Plan `json:"plan"`
	Revoked bool `json:"revoked"` // requests with the key get 401
	Minute  int  `json:"minute"`  // requests counted in the current minute
	Day     int  `json:"day"`     // and in the current day
	// MinuteReset and DayReset are when the windows end, by the server's clock.
	MinuteReset time.Time `json:"minuteReset,omitzero"`
	DayReset    time.Time `json:"dayReset,omitzero"`
	BannedUntil time.Time `json:"bannedUntil,omitzero"` // zero if it is not banned
	Limited     int       `json:"limited"`              // 429 responses so far, faults not included
}

// Usage returns how much of its limits a key has used, the zero Usage for a key that the server
// does not know.
func (s *Server) Usage(key string) Usage {
	k := s.keys.lookup(key)
	if k == nil {
		return Usage{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	sec := k.update().Unix()
	return Usage{
		Plan: k.plan, Revoked: k.revoked.Load(),
		Minute: k.minute.count, Day: k.day.count,
		MinuteReset: time.Unix(k.minute.reset(k.plan.PerMinute, sec), 0).UTC(),
		DayReset:    time.Unix(k.day.reset(k.plan.PerDay, sec), 0).UTC(),
		BannedUntil: k.bannedUntil,
		Limited:     k.limited,
	}
}

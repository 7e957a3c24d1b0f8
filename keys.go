package petstore

import (
	"maps"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go/internal/retry"
)

// maxKeys is the number of API keys about which a client records something: a program with a key
// for each of its customers has hundreds, and an entry takes less than 1 KiB.
const maxKeys = 1000

// keys has what a client records about each of its API keys, by their Call.KeyID, so that two keys
// of one program never meet.
type keys struct {
	mu    sync.Mutex
	found map[string]*keyState
	jar   http.CookieJar // for the next new key; nil if the client keeps no cookies
}

// keyState is what a client records about one of its keys.
type keyState struct {
	lockout lockoutRecord
	retries retry.Tokens
	log     keyLog
	seen    atomic.Pointer[RateLimit] // of the last response, if there is no limiter
	jar     http.CookieJar            // nil for none
}

// of returns the state of a key; a new one the first time. Beyond maxKeys it forgets another key.
// Only the first key gets the jar of WithHTTPClient, since a cookie may belong to the customer.
func (p *keys) of(keyID string) *keyState {
	p.mu.Lock()
	defer p.mu.Unlock()
	if state := p.found[keyID]; state != nil {
		return state
	}
	for other := range p.found {
		if len(p.found) < maxKeys {
			break
		}
		delete(p.found, other)
	}
	state := &keyState{jar: p.jar}
	if p.jar != nil {
		p.jar = newJar()
	}
	p.found[keyID] = state
	return state
}

func newJar() http.CookieJar {
	jar, _ := cookiejar.New(nil) // it returns no error
	return jar
}

// ids returns the keys.
func (p *keys) ids() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.found))
}

// lockoutRecord is what a client records about the lockouts of a key, to report each once. The rate
// limit is closed from the first 429 or local refusal until the service has accepted a request that
// shows the end.
type lockoutRecord struct {
	count atomic.Uint64 // beginnings and ends of lockouts so far: odd while one lasts
	mu    sync.Mutex
	since time.Time
	left  int // what the limit had left, if that closed it for a local refusal; else -1
	info  LimitInfo
}

// close records a lockout, and reports whether it is a new one. count is that of the time when the
// request asked for its permit: a refusal or 429 from before the end of the last lockout is part of
// that one, unless it closes the key for longer. A lockout is new, too, if another limit closes the
// key for longer, such as a ban after a minute that was used up.
func (l *lockoutRecord) close(info LimitInfo, left int, count uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, longer, same := l.count.Load(), info.Until.After(l.info.Until), info.Scope == l.info.Scope
	switch lasts := now%2 == 1; {
	case lasts && (longer || same):
		l.info = info
		return !same
	case lasts, count != now && !longer:
		return false
	}
	l.info, l.since, l.left = info, time.Now(), left
	l.count.Add(1)
	return true
}

// open ends a lockout if there was one and a response shows its end, and returns what began it. A
// request that was ready then shows that if the lockout should have ended before, or if it asked
// for its permit during the lockout and got it early, as after ReopenLimit. While the last requests
// of a window are admitted, others are refused already; of these, each shows that less is left.
func (l *lockoutRecord) open(ready time.Time, remaining int, count uint64) (LimitInfo, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.count.Load()
	ended := !ready.Before(l.since) && !ready.Before(l.info.Until)
	early := count == now && remaining > l.left
	if now%2 == 0 || !ended && !early {
		return LimitInfo{}, false
	}
	l.count.Add(1)
	return l.info, true
}

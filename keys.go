package petstore

import (
	"maps"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"sync"
	"sync/atomic"

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

// Package peer has the clients that are compared, each used as its documentation shows.
package peer

import (
	"context"
	"net/http"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/bench/internal/canned"
)

// Client makes the calls of a peer.
type Client interface {
	// Call makes one call and returns the typed value that the client hands to its user, as a
	// pointer; or the error.
	Call(ctx context.Context, o canned.Operation) (any, error)
	// Read reads what Call has returned.
	Read(value any, err error) (Result, error)
}

// Peer is a kind of client.
type Peer struct {
	Name string
	// New makes a client.
	New func(Target) (Client, error)
}

// Peers returns the clients of this build: the yardstick, which is net/http with a timeout for each
// request, then ours and the others. The one made of generated code is missing in a build without
// that code.
func Peers() []Peer {
	return append([]Peer{
		{"net/http", newNetHTTP},
		{"petstore-go", newOurs},
		{"go-retryablehttp", newRetryable},
	}, generated()...)
}

// Result is the outcome of a call, the same for all clients.
type Result struct {
	Status    int
	Pets      []petstore.Pet
	Code      string // of an Error object
	RateLimit petstore.RateLimit
}

// APIKey is the key that the clients send.
const APIKey = "bench-api-key"

// Target is what a client talks to, and through what.
type Target struct {
	// BaseURL ends in /v1.
	BaseURL string
	// Transport is used in place of the client's own. Nil: its own.
	Transport http.RoundTripper
	// IdleConns, if not 0, makes the client's own transport keep that many idle connections. Ours
	// is left as it is.
	IdleConns int
}

// transport returns the one given, or net/http's default one with the requested pool.
func (t Target) transport() http.RoundTripper {
	if t.Transport != nil {
		return t.Transport
	}
	return t.pool(http.DefaultTransport.(*http.Transport).Clone())
}

func (t Target) pool(own *http.Transport) *http.Transport {
	if t.IdleConns > 0 {
		own.MaxIdleConns, own.MaxIdleConnsPerHost = t.IdleConns, t.IdleConns
	}
	return own
}

func newRateLimit(limit, remaining int, reset int64) petstore.RateLimit {
	return petstore.RateLimit{Limit: limit, Remaining: remaining, Reset: time.Unix(reset, 0).UTC()}
}

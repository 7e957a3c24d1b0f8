// Package peer has the clients that are compared, each used as its documentation shows.
package peer

import (
	"context"
	"errors"
	"net/http"

	"github.com/petstore/petstore-go/bench/internal/canned"
)

// Client is one of the clients that are compared.
type Client struct {
	Name string
	// Call makes one call and returns the typed value that the client hands to its user, as a
	// pointer; or the error.
	Call func(ctx context.Context, o canned.Operation) (any, error)
}

// Clients returns the clients of this build for a target: the yardstick, which is net/http with a
// timeout for each request, then ours and the others. The one made of generated code is missing in a
// build without that code.
func Clients(t Target) ([]Client, error) {
	ours, err := newOurs(t)
	generated, err2 := generated(t)
	return append([]Client{newNetHTTP(t), ours, newRetryable(t)}, generated...), errors.Join(err, err2)
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

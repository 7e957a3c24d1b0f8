// Package peer has the clients that are compared, each used as its documentation shows, behind one
// interface.
package peer

import (
	"context"
	"net/http"
	"strconv"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/bench/internal/canned"
)

// Peer is a kind of client.
type Peer struct {
	// Name is what the tables call it.
	Name string
	// Module is the path of the module whose version belongs to the name; empty for the standard library.
	Module string
	// New makes a client.
	New func(Target) (Client, error)
}

// The names that the rest of the benchmark refers to.
const (
	Ours     = "petstore-go"
	Baseline = "net/http"
	Retrying = "go-retryablehttp"
)

// Peers returns all clients of this build, ours first and the yardstick second. Those made of generated
// code are among them only if the build was given that code.
func Peers() []Peer {
	peers := []Peer{
		{Ours, "", newOurs},
		{Baseline, "", newNetHTTP},
		{Retrying, "github.com/hashicorp/go-retryablehttp", newRetryable},
	}
	peers = append(peers, generated()...)
	return append(peers,
		Peer{"resty", "resty.dev/v3", newResty},
		Peer{"req", "github.com/imroc/req/v3", newReq},
	)
}

// Client makes the calls of a peer.
type Client interface {
	// Call makes one call and returns the typed result that the client hands to its user, as a pointer; or
	// the error.
	Call(ctx context.Context, o canned.Operation) (any, error)
	// Answer reads out what Call has returned.
	Answer(result any, err error) (Answer, error)
}

// Answer is what a call has brought, the same for all clients.
type Answer struct {
	Status    int
	Pets      []petstore.Pet
	Code      string // of an Error object
	RateLimit petstore.RateLimit
}

// APIKey is what the clients send.
const APIKey = "bench-api-key"

// Target is what a client talks to, and through what.
type Target struct {
	// BaseURL ends in /v1.
	BaseURL string
	// Transport is used in place of the client's own. Nil: its own.
	Transport http.RoundTripper
	// IdleConns, if not 0, makes the client's own transport keep so many idle connections. Ours is left as
	// it is.
	IdleConns int
}

// transport is the one given, or net/http's default one with the pool that was asked for.
func (t Target) transport() http.RoundTripper {
	if t.Transport != nil {
		return t.Transport
	}
	own := http.DefaultTransport.(*http.Transport).Clone()
	if t.IdleConns > 0 {
		own.MaxIdleConns, own.MaxIdleConnsPerHost = t.IdleConns, t.IdleConns
	}
	return own
}

// rateLimit reads the headers of section 8.2 by the names that the document gives them.
func rateLimit(h http.Header) petstore.RateLimit {
	limit, err1 := strconv.Atoi(h.Get("X-RateLimit-Limit"))
	remaining, err2 := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	reset, err3 := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return petstore.RateLimit{}
	}
	return newRateLimit(limit, remaining, reset)
}

func newRateLimit(limit, remaining int, reset int64) petstore.RateLimit {
	return petstore.RateLimit{Limit: limit, Remaining: remaining, Reset: time.Unix(reset, 0).UTC()}
}

package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/petstore/petstore-go"
)

// gate is the limiter of a job with the journal behind it: a request gets its permit, the journal
// its entry, and only then the request leaves. A row that waits for the rate limit has not been
// sent, however the program ends.
type gate struct {
	petstore.Limiter
	*job
}

var errStopped = errors.New("the import is being stopped")

// lineKey is the context's key for the line of the row that a request adds.
type lineKey struct{}

// Unwrap lets [petstore.Client.ReopenLimit] find the limiter in g.
func (g *gate) Unwrap() petstore.Limiter { return g.Limiter }

// Acquire implements [petstore.Limiter].
func (g *gate) Acquire(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
	permit, err := g.admit(ctx, r)
	if seen := g.learned.Swap(nil); seen != nil && err == nil { // else each restart would risk a 429, and a ban
		permit.Release(*seen)
		permit, err = g.admit(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	line, _ := ctx.Value(lineKey{}).(int) // 0: listPets
	if line > 0 {
		err = g.journal.write(line, entry{Event: sending})
	}
	if err != nil {
		permit.Release(petstore.Observation{})
		return nil, err
	}
	return &recorded{permit, g.journal, line}, nil
}

// admit waits until the import is stopped, while the requests in flight go on.
func (g *gate) admit(ctx context.Context, r petstore.LimitRequest) (petstore.Permit, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.stopping, cancel)()
	permit, err := g.Limiter.Acquire(ctx, r)
	if err != nil && g.stopping.Err() != nil {
		return nil, errStopped // not the end of a context that the client does not know
	}
	return permit, err
}

// recorded is a permit whose use is in the journal.
type recorded struct {
	petstore.Permit
	journal *journal
	line    int
}

// Release implements [petstore.Permit]. The client may now wait for minutes before it sends the
// request again; if the program dies then, the row must not count as sent.
func (r *recorded) Release(o petstore.Observation) {
	limited := o.StatusCode == http.StatusTooManyRequests
	if r.line > 0 && (o.Delivery == petstore.DeliveryNotTried || o.NotDone) {
		_ = r.journal.write(r.line, entry{Event: unsent})
	}
	if limited || o.RateLimit.Limit > 0 && o.RateLimit.Remaining == 0 {
		_ = r.journal.keep(closedKey, o)
	}
	r.Permit.Release(o)
}

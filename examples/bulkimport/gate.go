package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/petstore/petstore-go"
)

// gate is the limiter of the key with the journal in front of the door: a request gets its permit, then the
// journal gets its entry, and only then it leaves. A row that waits for the limit has not been sent, however
// the program ends.
type gate struct {
	petstore.Limiter
	job *importer
}

var errStopped = errors.New("the import is being stopped")

// lineKey is the context's key for the line of the row that a request adds.
type lineKey struct{}

// Acquire implements [petstore.Limiter].
func (g *gate) Acquire(ctx context.Context, maxWait time.Duration) (petstore.Permit, error) {
	line, ok := ctx.Value(lineKey{}).(int)
	if !ok { // a look at the catalogue
		g.job.waits.begin()
		defer g.job.waits.end()
		return g.Limiter.Acquire(ctx, maxWait)
	}
	permit, err := g.wait(ctx, maxWait)
	if err != nil {
		return nil, err
	}
	if err := g.record(line); err != nil {
		permit.Release(petstore.Observation{})
		return nil, err
	}
	return &recorded{permit, g.job.journal, line}, nil
}

// wait ends when the import is stopped, while the requests that are on their way go on.
func (g *gate) wait(ctx context.Context, maxWait time.Duration) (petstore.Permit, error) {
	g.job.waits.begin()
	defer g.job.waits.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.job.stopping, cancel)()
	permit, err := g.Limiter.Acquire(ctx, maxWait)
	if err != nil && g.job.stopping.Err() != nil {
		return nil, errStopped // not the end of a context that the client knows nothing of
	}
	return permit, err
}

func (g *gate) record(line int) error {
	if err := g.job.journal.write(entry{Line: line, Event: sending}); err != nil {
		return err
	}
	return g.job.journal.sync()
}

// recorded is a permit whose use is in the journal.
type recorded struct {
	petstore.Permit
	journal *journal
	line    int
}

// Release implements [petstore.Permit]. The client may now wait for hours before it sends the request again;
// if the program dies then, the row must not count as sent.
func (r *recorded) Release(o petstore.Observation) {
	if o.Sent.IsZero() || o.StatusCode == http.StatusTooManyRequests {
		_ = r.journal.write(entry{Line: r.line, Event: unsent}) // the journal remembers its failure
	}
	r.Permit.Release(o)
}

package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go"
)

// gate is the limiter of the key with the journal behind it: a request gets its permit, then the
// journal its entry, and only then it leaves. A row that waits for the limit has not been sent,
// however the program ends.
type gate struct {
	petstore.Limiter
	journal  *journal
	stopping context.Context
	stop     context.CancelCauseFunc
	took     atomic.Int64 // nanoseconds of a request, smoothed
	ahead    atomic.Int64 // nanoseconds of the service's clock
	waiting  atomic.Int32 // requests without a permit
}

var errStopped = errors.New("the import is being stopped")

// The context's keys for the line of the row that a request adds, and for a response that the
// limiter is to learn from a request which is not sent.
type (
	lineKey struct{}
	seenKey struct{}
)

// Acquire implements [petstore.Limiter]. Its waits end when the import is stopped, while the
// requests that are on their way go on.
func (g *gate) Acquire(ctx context.Context, maxWait time.Duration) (petstore.Permit, error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.stopping, cancel)()
	g.waiting.Add(1)
	permit, err := g.Limiter.Acquire(waiting, maxWait)
	g.waiting.Add(-1)
	if err != nil && g.stopping.Err() != nil {
		err = errStopped // and not the end of a context that the client knows nothing of
	}
	if err != nil {
		return nil, err
	}
	if seen, ok := ctx.Value(seenKey{}).(*petstore.Observation); ok {
		permit.Release(*seen)
		return nil, errStopped
	}
	line, _ := ctx.Value(lineKey{}).(int) // 0: listPets
	if line > 0 {
		err = errors.Join(g.journal.write(entry{Line: line, Event: sending}), g.journal.sync())
	}
	if err != nil {
		g.stop(err)
		permit.Release(petstore.Observation{})
		return nil, err
	}
	return &recorded{permit, g, line}, nil
}

// recorded is a permit whose use is in the journal.
type recorded struct {
	petstore.Permit
	gate *gate
	line int
}

// Release implements [petstore.Permit]. The client may now wait for minutes before it sends the
// request again; if the program dies then, the row must not count as sent.
func (r *recorded) Release(o petstore.Observation) {
	limited := o.StatusCode == http.StatusTooManyRequests
	if r.line > 0 && (o.Sent.IsZero() || limited) {
		_ = r.gate.journal.write(entry{Line: r.line, Event: unsent}) // the journal remembers its failure
	}
	if limited || o.RateLimit.Limit > 0 && o.RateLimit.Remaining == 0 {
		_ = r.gate.journal.write(entry{Event: closed, Response: &o})
	}
	if !o.Date.IsZero() {
		r.gate.ahead.Store(int64(o.Date.Sub(o.Received)))
		r.gate.took.Add((int64(o.Received.Sub(o.Sent)) - r.gate.took.Load()) / 8)
	}
	r.Permit.Release(o)
}

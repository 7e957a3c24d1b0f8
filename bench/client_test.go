package bench_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
)

// goroutines is the number of callers where calls are concurrent: far more than CPUs, as in a
// server.
const goroutines = 64

// client is a peer's client for one target.
type client struct {
	peer.Client

	name string
}

// newClients makes a client of every peer, the yardstick first.
func newClients(tb testing.TB, target peer.Target) []client {
	tb.Helper()
	var all []client
	for _, p := range peer.Peers() {
		c, err := p.New(target)
		require.NoError(tb, err, p.Name)
		all = append(all, client{c, p.Name})
	}
	return all
}

// calls makes n calls from some goroutines and returns the first error. A 404 is none.
func (c client) calls(tb testing.TB, op canned.Operation, callers, n int) error {
	tb.Helper()
	return fromMany(callers, n, func() error {
		if _, err := c.Call(tb.Context(), op); err != nil && op != canned.NotFound {
			return err
		}
		return nil
	})
}

// fromMany calls f n times from some goroutines, and returns an error if there was one.
func fromMany(callers, n int, f func() error) error {
	var wg sync.WaitGroup
	var taken atomic.Int64
	failures := make(chan error, callers)
	for range callers {
		wg.Go(func() {
			for taken.Add(1) <= int64(n) {
				if err := f(); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failures)
	return <-failures
}

func TestClients(t *testing.T) {
	server := startServer(t, "canned").baseURL
	for name, target := range map[string]peer.Target{
		"with its own transport":           {BaseURL: server},
		"with its own transport and pool":  {BaseURL: server, IdleConns: goroutines},
		"with the stub as their transport": {BaseURL: server, Transport: canned.NewTransport()},
	} {
		for _, c := range newClients(t, target) {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				for _, op := range canned.Operations() {
					got, err := c.Read(c.Call(t.Context(), op))
					require.NoError(t, err, op.Name)
					assert.Equal(t, wantedResult(op, got.Status == 0), got, op.Name)
				}
			})
		}
	}
}

// wantedResult is the result that every client must bring. silent: it does not tell the status of a
// success.
func wantedResult(op canned.Operation, silent bool) peer.Result {
	want := peer.Result{Status: op.Status, RateLimit: canned.RateLimit}
	switch {
	case op.Limit > 0:
		want.Pets = canned.Pets(op.Limit)
	case op == canned.NotFound:
		want.Code = canned.NotFoundCode
	default:
		want.Pets = canned.Pets(1)
		if silent {
			want.Status = 0
		}
	}
	return want
}

package bench_test

import (
	"encoding/json"
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

// newClients makes all clients for a target, the yardstick first.
func newClients(tb testing.TB, target peer.Target) []peer.Client {
	tb.Helper()
	all, err := peer.Clients(target)
	require.NoError(tb, err)
	return all
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
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				for _, op := range canned.Operations() {
					got := asJSON(t, c, op)
					assert.Contains(t, got, `:999999999`, "%s: what remains", op.Name)
					if op == canned.NotFound {
						assert.Contains(t, got, `"not_found"`)
						continue
					}
					var pets any = canned.Pets(1)[0]
					if op.Limit > 0 {
						pets = canned.Pets(op.Limit)
					}
					want, err := json.Marshal(pets)
					require.NoError(t, err)
					assert.Contains(t, got, string(want), op.Name)
				}
			})
		}
	}
}

// asJSON returns the value or the error of a call.
func asJSON(t *testing.T, c peer.Client, op canned.Operation) string {
	t.Helper()
	value, err := c.Call(t.Context(), op)
	if err != nil {
		require.Equal(t, canned.NotFound, op, err)
		value = err
	}
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

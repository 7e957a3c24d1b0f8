package quota_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/quota"
	"github.com/petstore/petstore-go/internal/quota/quotatest"
)

// flight is a request in flight.
type flight struct {
	slot     quota.Slot
	sent     time.Time
	response *quota.Observation // nil until the request has reached the service
}

// walk takes random steps with a budget and a model of the service, in its own time, and checks the
// rules after each step.
type walk struct {
	t        *testing.T
	rng      *rand.Rand
	now      time.Time
	budget   quota.Budget
	service  *quotatest.Service
	flights  []*flight
	honest   bool // all responses have headers, and no other process uses the key
	foreign  bool // another process uses the key, and the service may reject any request
	gate     time.Time
	closed   time.Time // when the last 429 came
	rejected bool      // no success yet to a request sent after it
	stuck    int       // steps in a row without an admission or a flight
	log      []string
}

func newWalk(t *testing.T, seed uint64) *walk {
	rng := rand.New(rand.NewPCG(seed, 7))
	kinds := []quotatest.Window{quotatest.Fixed, quotatest.Aligned, quotatest.Sliding, quotatest.Drained}
	s := &quotatest.Service{Window: kinds[rng.IntN(len(kinds))], PerMinute: 5 + rng.IntN(60), PerDay: 200 + rng.IntN(2000)}
	if rng.IntN(2) == 0 {
		s.Skew = time.Duration(rng.Int64N(int64(20*time.Minute))) - 10*time.Minute
	}
	start := time.Unix(1_000_000_000+rng.Int64N(1e6), rng.Int64N(1e9))
	w := &walk{t: t, rng: rng, now: start, service: s}
	s.Clock = func() time.Time { return w.now }
	switch rng.IntN(4) {
	case 0:
		w.foreign = true
	case 1:
		s.NoDate, s.Skew = true, 0
		s.NoHeaders = rng.IntN(2) == 0
	default:
		w.honest = true
	}
	return w
}

func (w *walk) failf(format string, args ...any) {
	w.t.Helper()
	for _, line := range w.log[max(0, len(w.log)-40):] {
		w.t.Log(line)
	}
	w.t.Fatalf(format, args...)
}

func (w *walk) note(format string, args ...any) {
	w.log = append(w.log, w.now.UTC().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// step takes one random step.
func (w *walk) step() {
	switch n := w.rng.IntN(100); {
	case n < 45:
		w.admit()
	case n < 65:
		w.arrive()
	case n < 85:
		w.receive()
	case n < 88:
		w.drop()
	case n < 89 && w.foreign:
		for range 1 + w.rng.IntN(5) {
			w.service.Answer()
		}
	default:
		w.now = w.now.Add(time.Duration(w.rng.Int64N(int64(300 * time.Millisecond))))
	}
	if len(w.flights) != w.budget.InFlight() {
		w.failf("%d requests are in flight, the budget counts %d", len(w.flights), w.budget.InFlight())
	}
}

// admit asks the budget for a request, and checks its decision.
func (w *walk) admit() {
	s, why, ok := w.budget.Admit(w.now, w.rng.IntN(4) == 0)
	if !ok {
		w.wait(why)
		return
	}
	w.note("admitted, %d in flight", len(w.flights)+1)
	w.stuck = 0
	if w.now.Before(w.gate) {
		w.failf("admitted %v before the gate opens", w.gate.Sub(w.now))
	}
	if w.rejected {
		if n := w.sinceGate(); n > 0 && w.now.Sub(w.flights[len(w.flights)-1].sent) < 10*time.Second {
			w.failf("a second request after a 429")
		}
	}
	w.flights = append(w.flights, &flight{slot: s, sent: w.now})
}

// wait lets time pass until Wake if nothing is in flight, and checks that the walk does not stop.
func (w *walk) wait(why quota.Wait) {
	if len(w.flights) > 0 {
		return
	}
	if w.stuck++; w.stuck > 3 {
		w.failf("no request can go, and nothing is in flight: %+v", why)
	}
	if !why.Wake.After(w.now) {
		w.failf("nothing is on its way, and there is no time to wake: %+v", why)
	}
	w.note("waits %v for %s", why.Wake.Sub(w.now), why.Reason)
	w.now = why.Wake
}

// arrive lets a request reach the service.
func (w *walk) arrive() {
	if f := w.pick(func(f *flight) bool { return f.response == nil }); f != nil {
		o := w.service.Answer()
		w.note("service: %d, %d left", o.StatusCode, o.RateLimit.Remaining)
		if o.StatusCode == http.StatusTooManyRequests && w.honest {
			w.failf("rejected")
		}
		f.response = &o
	}
}

// receive lets a response come back.
func (w *walk) receive() {
	f := w.pick(func(f *flight) bool { return f.response != nil })
	if f == nil {
		return
	}
	o := *f.response
	o.Sent, o.Received = f.sent, w.now
	// Without the response to the first request, it is not known when a sliding window has room
	// again.
	lossy := !w.honest || w.service.Window == quotatest.Fixed || w.service.Window == quotatest.Aligned
	switch n := w.rng.IntN(60); {
	case !lossy:
	case n == 0:
		o.Received = time.Time{}
	case n == 1:
		if o.StatusCode == http.StatusOK {
			o = quota.Observation{Sent: o.Sent, Received: o.Received, StatusCode: http.StatusBadGateway}
		}
	}
	w.settle(f, o)
}

// drop ends a request that was not sent.
func (w *walk) drop() {
	if f := w.pick(func(f *flight) bool { return f.response == nil }); f != nil {
		w.settle(f, quota.Observation{})
	}
}

func (w *walk) settle(f *flight, o quota.Observation) {
	w.note("response %d, %d left", o.StatusCode, o.RateLimit.Remaining)
	w.flights = slices.DeleteFunc(w.flights, func(g *flight) bool { return g == f })
	w.budget.Settle(f.slot, &o, w.now)
	switch {
	case o.Received.IsZero():
	case o.StatusCode == http.StatusTooManyRequests:
		w.rejected, w.closed = true, w.now
		if gate := o.Received.Add(o.RetryAfter); gate.After(w.gate) {
			w.gate = gate
		}
	case !f.sent.Before(w.closed):
		w.rejected = false
	}
}

// sinceGate returns the number of requests in flight that were sent after the gate opened.
func (w *walk) sinceGate() (n int) {
	for _, f := range w.flights {
		if !f.sent.Before(w.gate) {
			n++
		}
	}
	return n
}

// pick returns a random flight for which is returns true; nil if there is none.
func (w *walk) pick(is func(*flight) bool) *flight {
	var found []*flight
	for _, f := range w.flights {
		if is(f) {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[w.rng.IntN(len(found))]
}

// run takes steps, and then lets all responses come back.
func (w *walk) run(steps int) {
	for range steps {
		w.step()
	}
	for len(w.flights) > 0 {
		w.arrive()
		w.receive()
	}
}

// TestBudgetRandomSteps takes 1,000,000 steps with PETSTORE_STEPS=1000000.
func TestBudgetRandomSteps(t *testing.T) {
	const each = 1000
	steps := 100_000
	if s := os.Getenv("PETSTORE_STEPS"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		steps = n
	}
	for seed := range uint64(steps / each) {
		newWalk(t, seed).run(each)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzBudget(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { newWalk(t, seed).run(1000) })
}

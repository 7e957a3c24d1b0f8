package ratelimit

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// flight is a request in flight.
type flight struct {
	slot     slot
	sent     time.Time
	response *Outcome // nil until the request has reached the service
}

// walk takes random steps with a budget and a model of the service, in its own time, and checks the
// rules after each step.
type walk struct {
	*require.Assertions
	rng      *rand.Rand
	now      time.Time
	budget   budget
	service  *Service
	flights  []*flight
	honest   bool // all responses have the headers, and no other process uses the key
	foreign  bool // another process uses the key, and the service may reject any request
	gate     time.Time
	closed   time.Time // when the last 429 came
	rejected bool      // no success yet to a request sent after it
	stuck    int       // steps in a row in which nothing was admitted and nothing was in flight
}

func newWalk(t *testing.T, seed uint64) *walk {
	rng := rand.New(rand.NewPCG(seed, 7))
	kinds := []windowKind{Fixed, Aligned, Sliding, Drained}
	s := &Service{Window: kinds[rng.IntN(len(kinds))], PerMinute: 5 + rng.IntN(60), PerDay: 200 + rng.IntN(2000)}
	if rng.IntN(2) == 0 {
		s.Skew = time.Duration(rng.Int64N(int64(20*minute))) - 10*minute
	}
	start := time.Unix(1_000_000_000+rng.Int64N(1e6), rng.Int64N(1e9))
	w := &walk{Assertions: require.New(t), rng: rng, now: start, service: s}
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

// run takes random steps, and then lets all responses come back.
func (w *walk) run(steps int) {
	for range steps {
		switch n := w.rng.IntN(100); {
		case n < 45:
			w.admit()
		case n < 65:
			w.arrive()
		case n < 85:
			w.receive()
		case n < 88:
			if f := w.pick(false); f != nil {
				w.settle(f, Outcome{}) // it was not sent
			}
		case n < 89 && w.foreign:
			for range 1 + w.rng.IntN(5) {
				w.service.Answer()
			}
		default:
			w.now = w.now.Add(time.Duration(w.rng.Int64N(int64(300 * time.Millisecond))))
		}
		w.Equal(len(w.flights), w.budget.inFlight)
	}
	for len(w.flights) > 0 {
		w.arrive()
		w.receive()
	}
}

// admit asks the budget for a request, and checks its decision.
func (w *walk) admit() {
	s, why, ok := w.budget.admit(w.now, w.rng.IntN(4) == 0)
	if !ok {
		w.wait(why)
		return
	}
	w.stuck = 0
	w.False(w.now.Before(w.gate), "before the gate opens")
	if w.rejected {
		sinceGate := slices.ContainsFunc(w.flights, func(f *flight) bool { return !f.sent.Before(w.gate) })
		w.False(sinceGate && w.now.Sub(w.flights[len(w.flights)-1].sent) < 10*second, "a second request after a 429")
	}
	w.flights = append(w.flights, &flight{slot: s, sent: w.now})
}

// wait lets time pass. If nothing is in flight, it waits until the budget's wake time, and checks
// that the walk does not come to a halt.
func (w *walk) wait(why hold) {
	if len(w.flights) > 0 {
		return
	}
	w.stuck++
	w.LessOrEqual(w.stuck, 3, "no request can go, and nothing is in flight: %+v", why)
	w.True(why.wake.After(w.now), "nothing is in flight, and there is no time to wake: %+v", why)
	w.now = why.wake
}

// arrive lets a request reach the service.
func (w *walk) arrive() {
	if f := w.pick(false); f != nil {
		o := w.service.Answer()
		w.False(o.StatusCode == http.StatusTooManyRequests && w.honest, "rejected")
		f.response = &o
	}
}

// receive lets a response come back.
func (w *walk) receive() {
	f := w.pick(true)
	if f == nil {
		return
	}
	o := *f.response
	o.Sent, o.Received = f.sent, w.now
	// Without the response to the first request, it is not known when a sliding window has room
	// again.
	lossy := !w.honest || w.service.Window == Fixed || w.service.Window == Aligned
	switch n := w.rng.IntN(60); {
	case lossy && n == 0:
		o.Received = time.Time{}
	case lossy && n == 1 && o.StatusCode == http.StatusOK:
		o = Outcome{Sent: o.Sent, Received: o.Received, StatusCode: http.StatusBadGateway}
	}
	w.settle(f, o)
}

func (w *walk) settle(f *flight, o Outcome) {
	w.flights = slices.DeleteFunc(w.flights, func(g *flight) bool { return g == f })
	w.budget.settle(f.slot, &o, w.now)
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

// pick returns a random flight, of those that have reached the service or of those that have not;
// nil if there is none.
func (w *walk) pick(arrived bool) *flight {
	var found []*flight
	for _, f := range w.flights {
		if arrived == (f.response != nil) {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[w.rng.IntN(len(found))]
}

func FuzzBudget(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { newWalk(t, seed).run(1000) })
}

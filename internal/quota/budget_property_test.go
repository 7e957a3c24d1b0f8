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

// flight is a request of the property test on its way.
type flight struct {
	slot   quota.Slot
	sent   time.Time
	answer *quota.Observation // nil until the service has seen the request
}

// trial drives a budget and the model of the service by random steps, in time of its own, and
// checks after each what must always hold.
type trial struct {
	t        *testing.T
	rng      *rand.Rand
	now      time.Time
	budget   quota.Budget
	service  *quotatest.Service
	flights  []*flight
	honest   bool // headers on all answers, nobody else on the key
	foreign  bool // somebody else is, and the service rejects what it pleases
	gate     time.Time
	closed   time.Time // when the last 429 came
	rejected bool      // and no success to a request sent after it
	stuck    int       // steps in a row without an admission or a flight
	log      []string
}

func newTrial(t *testing.T, seed uint64) *trial {
	rng := rand.New(rand.NewPCG(seed, 7))
	kinds := []quotatest.Window{quotatest.Fixed, quotatest.Aligned, quotatest.Sliding, quotatest.Drained}
	s := &quotatest.Service{Window: kinds[rng.IntN(len(kinds))], PerMinute: 5 + rng.IntN(60), PerDay: 200 + rng.IntN(2000)}
	if rng.IntN(2) == 0 {
		s.Skew = time.Duration(rng.Int64N(int64(20*time.Minute))) - 10*time.Minute
	}
	start := time.Unix(1_000_000_000+rng.Int64N(1e6), rng.Int64N(1e9))
	x := &trial{t: t, rng: rng, now: start, service: s}
	s.Clock = func() time.Time { return x.now }
	switch rng.IntN(4) {
	case 0:
		x.foreign = true
	case 1:
		s.NoDate, s.Skew = true, 0
		s.NoHeaders = rng.IntN(2) == 0
	default:
		x.honest = true
	}
	return x
}

func (x *trial) failf(format string, args ...any) {
	x.t.Helper()
	for _, line := range x.log[max(0, len(x.log)-40):] {
		x.t.Log(line)
	}
	x.t.Fatalf(format, args...)
}

func (x *trial) note(format string, args ...any) {
	x.log = append(x.log, x.now.UTC().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// step does one random thing.
func (x *trial) step() {
	switch n := x.rng.IntN(100); {
	case n < 45:
		x.Admit()
	case n < 65:
		x.arrive()
	case n < 85:
		x.receive()
	case n < 88:
		x.drop()
	case n < 89 && x.foreign:
		x.interfere()
	default:
		x.pass(time.Duration(x.rng.Int64N(int64(300 * time.Millisecond))))
	}
	if len(x.flights) != x.budget.InFlight() {
		x.failf("%d requests are on their way, the budget counts %d", len(x.flights), x.budget.InFlight())
	}
}

// admit asks for a request, and holds the answer against what the service would say to it.
func (x *trial) Admit() {
	s, w, ok := x.budget.Admit(x.now, x.rng.IntN(4) == 0)
	if !ok {
		x.wait(w)
		return
	}
	x.note("admitted, %d on their way", len(x.flights)+1)
	x.stuck = 0
	if x.now.Before(x.gate) {
		x.failf("admitted %v before the gate opens", x.gate.Sub(x.now))
	}
	if x.rejected {
		if n := x.sinceGate(); n > 0 && x.now.Sub(x.flights[len(x.flights)-1].sent) < 10*time.Second {
			x.failf("a second request after a 429")
		}
	}
	x.flights = append(x.flights, &flight{slot: s, sent: x.now})
}

// wait lets time pass when nothing else can happen, and sees to it that something then does.
func (x *trial) wait(w quota.Wait) {
	if len(x.flights) > 0 {
		return
	}
	if x.stuck++; x.stuck > 3 {
		x.failf("nobody can go, and nothing is on its way: %+v", w)
	}
	if !w.Wake.After(x.now) {
		x.failf("nothing is on its way, and no time is told: %+v", w)
	}
	x.note("waits %v for %s", w.Wake.Sub(x.now), w.Reason)
	x.now = w.Wake
}

// arrive lets the service see a request.
func (x *trial) arrive() {
	if f := x.pick(func(f *flight) bool { return f.answer == nil }); f != nil {
		o := x.service.Answer()
		x.note("service: %d, %d left", o.StatusCode, o.RateLimit.Remaining)
		if o.StatusCode == http.StatusTooManyRequests && x.honest {
			x.failf("rejected")
		}
		f.answer = &o
	}
}

// receive takes an answer back.
func (x *trial) receive() {
	f := x.pick(func(f *flight) bool { return f.answer != nil })
	if f == nil {
		return
	}
	o := *f.answer
	o.Sent, o.Received = f.sent, x.now
	// A lost answer of a probe leaves open when a sliding window has room again.
	lossy := !x.honest || x.service.Window == quotatest.Fixed || x.service.Window == quotatest.Aligned
	switch n := x.rng.IntN(60); {
	case !lossy:
	case n == 0:
		o.Received = time.Time{}
	case n == 1:
		if o.StatusCode == http.StatusOK {
			o = quota.Observation{Sent: o.Sent, Received: o.Received, StatusCode: http.StatusBadGateway}
		}
	}
	x.Settle(f, o)
}

// drop gives a request back unsent.
func (x *trial) drop() {
	if f := x.pick(func(f *flight) bool { return f.answer == nil }); f != nil {
		x.Settle(f, quota.Observation{})
	}
}

func (x *trial) Settle(f *flight, o quota.Observation) {
	x.note("answer %d, %d left", o.StatusCode, o.RateLimit.Remaining)
	x.flights = slices.DeleteFunc(x.flights, func(g *flight) bool { return g == f })
	x.budget.Settle(f.slot, &o, x.now)
	switch {
	case o.Received.IsZero():
	case o.StatusCode == http.StatusTooManyRequests:
		x.rejected, x.closed = true, x.now
		if gate := o.Received.Add(o.RetryAfter); gate.After(x.gate) {
			x.gate = gate
		}
	case !f.sent.Before(x.closed):
		x.rejected = false
	}
}

// sinceGate is the number of requests on their way that were sent after the last 429.
func (x *trial) sinceGate() (n int) {
	for _, f := range x.flights {
		if !f.sent.Before(x.gate) {
			n++
		}
	}
	return n
}

// interfere is somebody else on the key.
func (x *trial) interfere() {
	for range 1 + x.rng.IntN(5) {
		x.service.Answer()
	}
}

func (x *trial) pass(d time.Duration) { x.now = x.now.Add(d) }

// pick is a random flight of which is holds, nil if there is none.
func (x *trial) pick(is func(*flight) bool) *flight {
	var found []*flight
	for _, f := range x.flights {
		if is(f) {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[x.rng.IntN(len(found))]
}

// run takes steps, and then lets everything come home.
func (x *trial) run(steps int) {
	for range steps {
		x.step()
	}
	for len(x.flights) > 0 {
		x.arrive()
		x.receive()
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
		newTrial(t, seed).run(each)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzBudget(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { newTrial(t, seed).run(1000) })
}

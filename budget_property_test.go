package petstore

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// flight is a request of the property test on its way.
type flight struct {
	slot   slot
	sent   time.Time
	answer *Observation // nil until the service has seen the request
}

// trial drives a budget and the model of the service by random steps, in time of its own, and checks
// after each what must always hold.
type trial struct {
	t       *testing.T
	rng     *rand.Rand
	now     time.Time
	budget  budget
	service *service
	flights []*flight
	honest  bool // headers on all answers, nobody else on the key
	foreign bool // somebody else is, and the service rejects what it pleases
	gate    time.Time
	after   int // requests admitted since the gate closed and not answered
	stuck   int // steps in a row without an admission or a flight
	log     []string
}

func newTrial(t *testing.T, seed uint64) *trial {
	rng := rand.New(rand.NewPCG(seed, 7))
	kinds := []windowKind{windowFixed, windowAligned, windowSliding, windowDrained}
	s := newService(kinds[rng.IntN(len(kinds))], 5+rng.IntN(60))
	s.day.limit = 200 + rng.IntN(2000)
	if rng.IntN(2) == 0 {
		s.skew = time.Duration(rng.Int64N(int64(20*time.Minute))) - 10*time.Minute
	}
	start := time.Unix(1_000_000_000+rng.Int64N(1e6), rng.Int64N(1e9))
	x := &trial{t: t, rng: rng, now: start, service: s}
	s.now = func() time.Time { return x.now }
	switch rng.IntN(4) {
	case 0:
		x.foreign = true
	case 1:
		s.noDate, s.skew = true, 0
		s.noHeaders = rng.IntN(2) == 0
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
		x.admit()
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
	if len(x.flights) != x.budget.inFlight {
		x.failf("%d requests are on their way, the budget counts %d", len(x.flights), x.budget.inFlight)
	}
}

// admit asks for a request, and holds the answer against what the service would say to it.
func (x *trial) admit() {
	s, w, ok := x.budget.admit(x.now)
	if !ok {
		x.wait(w)
		return
	}
	x.note("admitted, probe %v, %d on their way", s.probe, len(x.flights)+1)
	x.stuck = 0
	if x.now.Before(x.gate) {
		x.failf("admitted %v before the gate opens", x.gate.Sub(x.now))
	}
	if x.budget.rejected {
		if x.after++; x.after > 1 && x.now.Sub(x.flights[len(x.flights)-1].sent) < roomlessPatience {
			x.failf("a second probe after a 429")
		}
	}
	x.flights = append(x.flights, &flight{slot: s, sent: x.now})
}

// wait lets time pass when nothing else can happen, and sees to it that something then does.
func (x *trial) wait(w wait) {
	if len(x.flights) > 0 {
		return
	}
	if x.stuck++; x.stuck > 3 {
		x.failf("nobody can go, and nothing is on its way: %+v", w)
	}
	if !w.wake.After(x.now) {
		x.failf("nothing is on its way, and no time is told: %+v", w)
	}
	x.note("waits %v for %s", w.wake.Sub(x.now), w.reason)
	x.now = w.wake
}

// arrive lets the service see a request.
func (x *trial) arrive() {
	if f := x.pick(func(f *flight) bool { return f.answer == nil }); f != nil {
		o := x.service.answer()
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
	lossy := !x.honest || x.service.minute.kind == windowFixed || x.service.minute.kind == windowAligned
	switch n := x.rng.IntN(60); {
	case !lossy:
	case n == 0:
		o.Received = time.Time{}
	case n == 1:
		if o.StatusCode == http.StatusOK {
			o = Observation{Sent: o.Sent, Received: o.Received, StatusCode: http.StatusBadGateway}
		}
	}
	x.settle(f, o)
}

// drop gives a request back unsent.
func (x *trial) drop() {
	if f := x.pick(func(f *flight) bool { return f.answer == nil }); f != nil {
		x.settle(f, Observation{})
	}
}

func (x *trial) settle(f *flight, o Observation) {
	x.note("answer %d, %d left", o.StatusCode, o.RateLimit.Remaining)
	x.flights = deleteFlight(x.flights, f)
	closures := x.budget.closures
	x.budget.settle(f.slot, o, x.now)
	if o.StatusCode == http.StatusTooManyRequests {
		x.gate = later(x.gate, o.Received.Add(o.RetryAfter))
	}
	if x.budget.closures != closures || f.slot.closures == closures {
		x.after = 0
	}
}

// interfere is somebody else on the key.
func (x *trial) interfere() {
	for range 1 + x.rng.IntN(5) {
		x.service.answer()
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

func deleteFlight(flights []*flight, gone *flight) []*flight {
	for i, f := range flights {
		if f == gone {
			return append(flights[:i:i], flights[i+1:]...)
		}
	}
	return flights
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
	require.Zero(x.t, x.budget.probes, "probes on their way")
}

// TestBudgetHoldsUnderRandomSteps takes 1,000,000 steps with PETSTORE_STEPS=1000000.
func TestBudgetHoldsUnderRandomSteps(t *testing.T) {
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

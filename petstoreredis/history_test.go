package petstoreredis

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/quota"
	"github.com/petstore/petstore-go/internal/quota/quotatest"
)

// trip is a request, or a permit for one, in a test of the script.
type trip struct {
	slot     quota.Slot // of a history
	granted  slot
	over     bool
	sent     time.Time          // zero while it is a permit
	response *quota.Observation // nil until the service has seen the request
}

// pick returns a random trip of which is holds; nil if there is none.
func pick(rng *rand.Rand, trips []*trip, is func(*trip) bool) *trip {
	for _, i := range rng.Perm(len(trips)) {
		if is(trips[i]) {
			return trips[i]
		}
	}
	return nil
}

// hold says in a command what the process holds.
func (c *command) hold(trips []*trip) {
	c.Holding, c.Probes = len(trips), 0
	for _, p := range trips {
		if p.granted.Probe {
			c.Probes++
		}
	}
}

// heard says in the commands from now on which state the process has seen.
func (c *command) heard(r reply) { c.Instance, c.Commands, c.At = r.Instance, r.Commands, r.At }

// history drives the script and a quota.Budget by the same random steps, in time of its own.
type history struct {
	scriptLog

	rng     *rand.Rand
	service *quotatest.Service
	budget  quota.Budget
	command command
	offset  quota.Offset
	trips   []*trip
	strange func(o *quota.Observation) // changes some responses, nil if it does not
	others  bool                       // use the key
	over    string                     // the exception that ended it
	cut     bool                       // lists are cut: the script may only be more careful
}

func newHistory(t *testing.T, seed uint64) *history {
	rng := rand.New(rand.NewPCG(seed, 11))
	kinds := []quotatest.Window{quotatest.Fixed, quotatest.Aligned, quotatest.Sliding, quotatest.Drained}
	h := &history{
		scriptLog: scriptLog{t: t, redis: newLuaRedis(t)}, rng: rng, command: command{ID: "process", Lease: 1 << 40},
		service: &quotatest.Service{Window: kinds[rng.IntN(len(kinds))], PerMinute: 5 + rng.IntN(60), PerDay: 100 + rng.IntN(2000)},
		others:  rng.IntN(3) == 0,
	}
	h.redis.now = time.Unix(1_000_000_000+rng.Int64N(1e6), rng.Int64N(1000)*1e6)
	h.service.Clock = func() time.Time { return h.redis.now }
	h.service.NoDate = rng.IntN(4) == 0
	h.service.NoHeaders = rng.IntN(8) == 0
	if rng.IntN(2) == 0 {
		h.service.Skew = time.Duration(rng.IntN(1_200_000)-600_000) * time.Millisecond
	}
	if rng.IntN(2) == 0 {
		h.strange = oddities[rng.IntN(len(oddities))](rng)
	}
	return h
}

// oddities are services that do not behave like the model.
var oddities = []func(rng *rand.Rand) func(o *quota.Observation){
	func(*rand.Rand) func(o *quota.Observation) { // the end of the last window
		return func(o *quota.Observation) { o.RateLimit.Reset = o.RateLimit.Reset.Add(-time.Hour) }
	},
	func(*rand.Rand) func(o *quota.Observation) { // seconds that are left
		return func(o *quota.Observation) {
			o.RateLimit.Reset = time.Unix(int64(time.Until(o.RateLimit.Reset)/time.Second)&63, 0)
		}
	},
	func(*rand.Rand) func(o *quota.Observation) { // milliseconds
		return func(o *quota.Observation) { o.RateLimit.Reset = time.Unix(o.RateLimit.Reset.UnixMilli(), 0) }
	},
	func(rng *rand.Rand) func(o *quota.Observation) { // no headers now and then
		return func(o *quota.Observation) {
			if rng.IntN(5) == 0 {
				o.RateLimit = quota.RateLimit{}
			}
		}
	},
	func(rng *rand.Rand) func(o *quota.Observation) { // closures out of the blue
		return func(o *quota.Observation) {
			if rng.IntN(20) == 0 {
				o.StatusCode = http.StatusTooManyRequests
				o.RetryAfter = []time.Duration{0, 1, 1, 5, 30, 100, 3600}[rng.IntN(7)] * time.Second
			}
		}
	},
	func(rng *rand.Rand) func(o *quota.Observation) { // another plan
		limit := 3 + rng.IntN(200)
		return func(o *quota.Observation) {
			if o.RateLimit.Reset.Unix()%300 < 150 {
				o.RateLimit.Remaining = max(0, limit-o.RateLimit.Limit+o.RateLimit.Remaining)
				o.RateLimit.Limit = limit
			}
		}
	},
}

// scriptLog is what has happened to the script, shown when a test fails.
type scriptLog struct {
	t     *testing.T
	redis *luaRedis
	log   []string
}

func (l *scriptLog) now() time.Time { return l.redis.now }

func (l *scriptLog) note(format string, args ...any) {
	l.log = append(l.log, l.now().UTC().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (l *scriptLog) failf(format string, args ...any) {
	l.t.Helper()
	for _, line := range l.log[max(0, len(l.log)-40):] {
		l.t.Log(line)
	}
	l.t.Log(l.redis.data.state)
	l.t.Fatalf(format, args...)
}

func (h *history) state() *luaState {
	s := &luaState{}
	if h.redis.data.state != "" {
		require.NoError(h.t, json.Unmarshal([]byte(h.redis.data.state), s))
	}
	return s
}

// exchange sends a command.
func (h *history) exchange(want int, reports ...report) reply {
	h.command.Seq++
	c := h.command
	c.Want, c.Reports = want, reports
	c.hold(h.trips)
	r := h.redis.exchange(c)
	h.command.heard(r)
	h.command.Reopen = false
	return r
}

// step does one random thing.
func (h *history) step() {
	switch n := h.rng.IntN(200); {
	case n < 90:
		h.admit()
	case n < 130:
		h.arrive()
	case n < 170:
		h.receive()
	case n < 175:
		h.drop()
	case n < 177 && h.others:
		for range 1 + h.rng.IntN(5) {
			h.service.Answer()
		}
	case n < 178 && h.rng.IntN(20) == 0:
		h.note("reopened")
		h.budget.Reopen(h.now())
		h.command.Reopen = true
		h.exchange(0)
	case n < 180:
		h.pass(time.Duration(h.rng.IntN([]int{10_000, 70_000}[h.rng.IntN(2)])) * time.Millisecond)
	default:
		h.pass(time.Duration(h.rng.IntN(300)) * time.Millisecond)
	}
}

// pass lets time go by, and steps over the milliseconds by which the ends of the window may differ:
// the script takes the earliest of all bounds, and the Budget the latest.
func (h *history) pass(d time.Duration) {
	h.redis.now = h.now().Add(d)
	end := time.UnixMilli(int64(h.state().Ends))
	before := h.budget
	until := before.Earliest(h.now(), before.RateLimit().Remaining, false)
	if !h.now().Before(end.Add(-2*time.Millisecond)) && h.now().Before(end.Add(100*time.Millisecond)) {
		h.redis.now = end.Add(100 * time.Millisecond)
	}
	if until.After(h.now()) && until.Sub(end) < 20*time.Second && !h.now().Before(end) {
		h.redis.now = until.Truncate(time.Millisecond).Add(2 * time.Millisecond)
	}
}

// admit asks both for one request.
func (h *history) admit() {
	budget, data, cmd, state := h.budget, h.redis.data.clone(), h.command, h.state()
	slot, wait, ok := h.budget.Admit(h.now(), false)
	r := h.exchange(1)
	if ok && r.Granted == 0 && h.cut {
		h.budget, h.redis.data, h.command = budget, data, cmd
		return
	}
	if ok != (r.Granted == 1) {
		h.note("Budget admits: %t, %s until %v; script grants %d, %q", ok, wait.Reason, wait.Until, r.Granted, r.Reason)
		for _, e := range exceptions {
			if e.admission != nil && e.admission(state) {
				h.budget, h.redis.data, h.command = budget, data, cmd
				return
			}
		}
		h.failf("the decisions differ")
	}
	if !ok && h.cut {
		h.pass(time.Second)
		return
	}
	if !ok {
		h.compareWaits(wait, r)
		return
	}
	h.note("admitted, %d on their way", len(h.trips)+1)
	over := r.Probe || state.Epoch > 0 && float64(h.now().UnixMilli()) >= state.Ends
	h.trips = append(h.trips, &trip{slot: slot, granted: r.slot, over: over, sent: h.now()})
	h.compare(r)
}

// compareWaits compares what a request waits for.
func (h *history) compareWaits(w quota.Wait, r reply) {
	reason := map[string]quota.Reason{"gate": quota.Reason(r.Scope), "probe": quota.ForResponse, "response": quota.ForResponse}[r.Reason]
	if r.Reason == "window" || r.Reason == "full" { // full: what others hold may come back unused
		reason = quota.Reason(quota.Minute)
		if r.Day {
			reason = quota.Reason(quota.Day)
		}
	}
	if reason != w.Reason && (r.Reason != "full" || w.Reason != quota.ForResponse) {
		h.failf("waits for %s, and by the script for %s (%s)", w.Reason, reason, r.Reason)
	}
	until := h.now().Add(time.Duration(r.Ends) * time.Millisecond)
	if r.Reason == "gate" {
		until = h.now().Add(time.Duration(r.Gate) * time.Millisecond)
	}
	if !w.Until.IsZero() && w.Until.Sub(until).Abs() > 100*time.Millisecond {
		h.failf("waits until %v, and by the script until %v", w.Until, until)
	}
	if len(h.trips) == 0 { // nothing else can happen
		h.pass(max(0, w.Wake.Sub(h.now()).Truncate(time.Millisecond)) + 2*time.Millisecond)
	}
}

// compare compares what is known of the key.
func (h *history) compare(r reply) {
	known := h.budget.RateLimit()
	if h.cut {
		if r.Left > known.Remaining {
			h.failf("%d are left, and by the script %d", known.Remaining, r.Left)
		}
		return
	}
	shown := known.Reset.Unix()
	if known.Limit == 0 {
		shown = 0
	}
	if known.Limit != r.Limit || known.Remaining != r.Left || shown != r.Shown {
		h.failf("known is %+v, and by the script %d of %d, Reset %d", known, r.Left, r.Limit, r.Shown)
	}
	gate := h.now().Add(time.Duration(r.Gate) * time.Millisecond)
	if scope := h.budget.Scope(h.now(), h.now()); scope != "" && scope != r.Scope || (scope != "") != (r.Gate > 0) {
		h.failf("closed by %q, and by the script by %q until %v", scope, r.Scope, gate)
	}
}

func (h *history) arrive() {
	if p := pick(h.rng, h.trips, func(p *trip) bool { return p.response == nil }); p != nil {
		o := h.service.Answer()
		if h.strange != nil {
			h.strange(&o)
		}
		p.response = &o
	}
}

func (h *history) drop() {
	if p := pick(h.rng, h.trips, func(p *trip) bool { return p.response == nil }); p != nil {
		var o quota.Observation // not tried
		if h.rng.IntN(2) == 0 {
			o.Received = h.now() // could not be sent
		}
		h.settle(p, o)
	}
}

// receive takes a response back, or loses it.
func (h *history) receive() {
	p := pick(h.rng, h.trips, func(p *trip) bool { return p.response != nil })
	if p == nil {
		return
	}
	o := *p.response
	o.Sent, o.Received = p.sent, h.now()
	switch h.rng.IntN(40) {
	case 0:
		o = quota.Observation{Sent: p.sent}
	case 1:
		o = quota.Observation{Sent: p.sent, Abandoned: true}
	case 2:
		o = quota.Observation{Sent: p.sent, Received: h.now(), StatusCode: http.StatusBadGateway}
	}
	h.settle(p, o)
}

// settle reports the outcome of a request to both.
func (h *history) settle(p *trip, o quota.Observation) {
	h.note("status %d, %d of %d left, Reset in %v, Retry-After %v", o.StatusCode, o.RateLimit.Remaining, o.RateLimit.Limit,
		o.RateLimit.Reset.Sub(h.now()), o.RetryAfter)
	if o.RateLimit.Limit > 0 {
		h.offset.Narrow(&o)
	}
	made := newReport(p.granted, p.over, &o, h.offset)
	state := h.state()
	for _, e := range exceptions {
		if !h.cut && e.outcome != nil && e.outcome(state, &made) {
			h.over = e.name
			return
		}
	}
	h.trips = slices.DeleteFunc(h.trips, func(q *trip) bool { return p == q })
	h.budget.Settle(p.slot, &o, h.now())
	h.compare(h.exchange(0, made.at(h.now())))
	require.LessOrEqual(h.t, len(h.state().Counted), 62)
}

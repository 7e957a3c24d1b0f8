package petstoreredis

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
	"github.com/petstore/petstore-go/internal/quota/quotatest"
)

// process is one of several that share the key in a test of the script.
type process struct {
	command
	permits []*trip
	waiting []report  // not reported yet
	until   time.Time // the end of its lease
	dead    bool
	last    command
}

// crowd is several processes and the service. Whatever they hold may reach the service at any
// moment, and must be admitted then. To compare them with a Budget that sees everything would be no
// proof: between a response of one process and its report the Budget counts the others' requests
// twice that the service has counted before, and the script does not.
type crowd struct {
	scriptLog

	rng       *rand.Rand
	service   *quotatest.Service
	offset    quota.Offset
	processes []*process
	ends      time.Time // of the window, by the script
}

const testLease = 5 * time.Second

func newCrowd(t *testing.T, seed uint64) *crowd {
	rng := rand.New(rand.NewPCG(seed, 5))
	c := &crowd{
		scriptLog: scriptLog{t: t, redis: newLuaRedis(t)}, rng: rng,
		service: &quotatest.Service{
			Window:    []quotatest.Window{quotatest.Fixed, quotatest.Aligned}[rng.IntN(2)],
			PerMinute: 5 + rng.IntN(100), PerDay: 200 + rng.IntN(2000), NoDate: rng.IntN(4) == 0,
		},
	}
	c.redis.now = time.Unix(1_000_000_000+rng.Int64N(1e6), rng.Int64N(1000)*1e6)
	c.service.Clock = func() time.Time { return c.redis.now }
	for i := range 2 + rng.IntN(7) {
		c.processes = append(c.processes, &process{command: command{ID: fmt.Sprint(i), Lease: testLease.Milliseconds()}})
	}
	return c
}

// step does one random thing to one process.
func (c *crowd) step() {
	p := c.processes[c.rng.IntN(len(c.processes))]
	switch n := c.rng.IntN(100); {
	case p.dead:
		c.pass(time.Duration(c.rng.IntN(50)) * time.Millisecond)
	case n < 30:
		c.speak(p)
	case n < 50:
		c.send(p)
	case n < 65:
		c.arrive(p)
	case n < 85:
		c.receive(p)
	case n < 86:
		c.repeat(p)
	case n == 86 && c.rng.IntN(10) == 0:
		c.rush()
	case n == 87 && c.rng.IntN(10) == 0:
		c.note("%s dies with %d", p.ID, len(p.permits))
		p.dead = true
	case n == 88 && c.rng.IntN(10) == 0:
		c.pass(time.Duration(c.rng.IntN(60_000)) * time.Millisecond)
	default:
		c.pass(time.Duration(c.rng.IntN(100)) * time.Millisecond)
	}
}

// pass lets time go by. A process that is silent for its lease gives up what it holds: what it has
// sent is lost.
func (c *crowd) pass(d time.Duration) {
	c.redis.now = c.redis.now.Add(d)
	for _, p := range c.processes {
		if !c.redis.now.Before(p.until) {
			p.permits = nil
		}
	}
}

// rush has everything that anybody holds reach the service at once.
func (c *crowd) rush() {
	for _, p := range c.processes {
		for range p.permits {
			c.send(p)
			c.arrive(p)
		}
	}
}

// speak sends a command with all that p has to say, and takes what is granted. One reply in twenty
// gets lost.
func (c *crowd) speak(p *process) {
	p.permits = slices.DeleteFunc(p.permits, func(g *trip) bool { // some go back unused
		return g.sent.IsZero() && c.rng.IntN(8) == 0
	})
	p.Seq++
	cmd := p.command
	cmd.Want = c.rng.IntN(8)
	cmd.hold(p.permits)
	for i := range p.waiting {
		cmd.Reports = append(cmd.Reports, p.waiting[i].at(c.redis.now))
	}
	p.last = cmd
	r := c.redis.exchange(cmd)
	if c.rng.IntN(20) == 0 {
		c.note("%s does not hear of %d", p.ID, r.Granted)
		return
	}
	p.waiting, p.until = nil, c.redis.now.Add(testLease)
	p.heard(r)
	c.ends = c.redis.now.Add(time.Duration(r.Ends) * time.Millisecond)
	c.note("%s gets %d %q, %d left, %d outstanding", p.ID, r.Granted, r.Reason, r.Left, r.Outstanding)
	for range r.Granted {
		p.permits = append(p.permits, &trip{granted: r.slot})
	}
}

// repeat sends the last command again, as a client of Redis does that has got no reply, or an
// earlier one.
func (c *crowd) repeat(p *process) {
	cmd := p.last
	if cmd.ID == "" || !c.redis.now.Before(p.until) {
		return
	}
	if cmd.Seq > 1 && c.rng.IntN(2) == 0 {
		cmd.Seq--
		if r := c.redis.exchange(cmd); !r.Stale {
			c.failf("an earlier command was carried out")
		}
		return
	}
	if cmd.Holding == len(p.permits) && len(p.waiting) == 0 {
		cmd.Want = 0
		c.redis.exchange(cmd)
	}
}

func (c *crowd) send(p *process) {
	if g := pick(c.rng, p.permits, func(g *trip) bool { return g.sent.IsZero() }); g != nil {
		g.sent, g.over = c.redis.now, g.granted.Probe || g.granted.Epoch > 0 && !c.redis.now.Before(c.ends)
	}
}

func (c *crowd) arrive(p *process) {
	if g := pick(c.rng, p.permits, func(g *trip) bool { return !g.sent.IsZero() && g.response == nil }); g != nil {
		o := c.service.Answer()
		if o.StatusCode == http.StatusTooManyRequests {
			c.failf("rejected")
		}
		g.response = &o
	}
}

func (c *crowd) receive(p *process) {
	g := pick(c.rng, p.permits, func(g *trip) bool { return g.response != nil })
	if g == nil {
		return
	}
	o := *g.response
	o.Sent, o.Received = g.sent, c.redis.now
	if c.rng.IntN(40) == 0 {
		o = quota.Observation{Sent: g.sent}
	}
	if o.RateLimit.Limit > 0 {
		c.offset.Narrow(&o)
	}
	r := newReport(g.granted, g.over, &o, c.offset)
	if n := len(p.waiting); n == 0 || !p.waiting[n-1].join(r) {
		p.waiting = append(p.waiting, r)
	}
	c.note("%s receives %d left", p.ID, o.RateLimit.Remaining)
	p.permits = slices.DeleteFunc(p.permits, func(other *trip) bool { return g == other })
}

// TestScript_severalProcesses takes millions of steps with PETSTORE_STEPS=5000000.
func TestScript_severalProcesses(t *testing.T) {
	const each = 1000
	for seed := range uint64(steps(t, 20_000) / each) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := newCrowd(t, seed)
			for range each {
				c.step()
			}
		})
		if t.Failed() {
			return
		}
	}
}

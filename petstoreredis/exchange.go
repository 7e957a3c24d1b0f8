package petstoreredis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/petstore/petstore-go"
)

const (
	// mostExtra limits the permits that a process draws beyond those for its waiters.
	mostExtra = 64
	// keep is how long an unused permit is kept.
	keep = time.Second
	// A process that finds no permit, because all are out, asks again after firstPoll, then after
	// twice as long, at most lastPoll.
	firstPoll, lastPoll = 200 * time.Millisecond, 800 * time.Millisecond
	// spread is the time between the first and the last processes that ask for permits of a new
	// window.
	spread = 200 * time.Millisecond
	// reportAfter is how long an outcome waits for others to be reported with it.
	reportAfter = 150 * time.Millisecond
	// giveUp ends a command, which may otherwise wait for a connection for ever.
	giveUp = 30 * time.Second
	// never is further away than anything that is waited for.
	never = 365 * 24 * time.Hour
)

// command is a command on its way to Redis. There is one at a time.
type command struct {
	order  order
	sentAt time.Time
	inTime context.Context // ends with the reply, or after WithTimeout
	done   context.CancelFunc
}

// pump gives permits to the waiters, sends a command if it is time for one, and sets the alarm for
// the next time at which there is something to do.
func (l *Limiter) pump(now time.Time) {
	if !now.Before(l.heldUntil) {
		l.held = 0
	}
	l.serve(now)
	at := l.due(now)
	if l.command == nil && !now.Before(at) {
		l.send(now)
	}
	if l.command != nil {
		at = now.Add(never) // its reply calls pump
	}
	if l.alarm != nil {
		l.alarm.Stop() // if it has just fired, one more call does no harm
		l.alarm = nil
	}
	if at.Before(now.Add(never)) {
		l.alarm = time.AfterFunc(at.Sub(now), func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.pump(time.Now())
		})
	}
}

// due returns when to send the next command.
func (l *Limiter) due(now time.Time) time.Time {
	at := now.Add(never)
	reason := func(is bool, t time.Time) {
		if is && t.Before(at) {
			at = t
		}
	}
	reason(len(l.calls) > 0, l.askAt)
	reason(!l.reportAt.IsZero(), l.reportAt)
	reason(l.held > 0, l.usedAt.Add(keep))
	reason(l.reopen, now)
	if o := l.outage; o != nil {
		reason(o.waiting > 0, now)
		if at.Before(now.Add(never)) {
			return o.tryAt
		}
	}
	return at
}

// serve gives permits to the first waiters.
func (l *Limiter) serve(now time.Time) {
	for l.held > 0 && len(l.calls) > 0 {
		w := l.calls[0]
		l.held--
		l.calls.remove(w)
		w.permit = &permit{limiter: l, window: l.pot.Window, probe: l.pot.Reset == 0}
		l.usedAt = now
		l.stats.InFlight++
		w.ready()
	}
}

// send sends a command with all that there is to tell and to ask.
func (l *Limiter) send(now time.Time) {
	if l.held > 0 && !now.Before(l.usedAt.Add(keep)) {
		l.giveBack(now)
	}
	c, r := &command{sentAt: now}, &l.report
	c.order = order{
		Want: len(l.calls), Taken: l.taken, Window: l.pot.Window, At: l.pot.At, Reopen: l.reopen, report: *r,
		EndsIn: millis(now, r.ends), SentAgo: -millis(now, r.sent), RetryIn: millis(now, r.opens),
	}
	if c.order.Want > 0 && now.Sub(l.grantedAt) < keep { // the last ones were used up soon
		c.order.Extra = mostExtra
	}
	l.report, l.reportAt = report{}, time.Time{}
	l.stats.RoundTrips++
	l.command = c
	timeout := l.config.timeout
	if l.heard.IsZero() {
		timeout *= 3
	}
	c.inTime, c.done = context.WithTimeout(context.Background(), timeout)
	context.AfterFunc(c.inTime, func() { l.expire(c, timeout) })
	go l.exchange(c)
}

// giveBack returns the unused permits with the next command.
func (l *Limiter) giveBack(now time.Time) {
	for ; l.held > 0; l.held-- {
		l.report.add(l.pot.Window, &petstore.Observation{})
		l.reportAt = now
	}
}

// exchange runs a command, and does what the reply says.
func (l *Limiter) exchange(c *command) {
	ctx, cancel := context.WithTimeout(context.Background(), giveUp)
	defer cancel()
	p, err := l.store.run(ctx, &c.order)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.command = nil
	now, expired := time.Now(), c.inTime.Err() != nil
	c.done()
	switch {
	case err == nil:
		l.failed = false
		if !expired { // else Redis is slow: the process goes on without it, but knows what the reply says
			l.endOutage(now)
		}
		l.apply(c, p, now)
	case !l.failed && !expired:
		l.failed = true // one broken connection is no outage: ask again
	default:
		l.startOutage(now, err)
	}
	l.pump(now)
}

// expire starts an outage if c has no reply yet.
func (l *Limiter) expire(c *command, timeout time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.command == c {
		l.startOutage(time.Now(), fmt.Errorf("no reply within %v", timeout))
		l.pump(time.Now())
	}
}

// apply takes the permits and the knowledge of a reply.
func (l *Limiter) apply(c *command, p *pot, now time.Time) {
	if p.Window != l.pot.Window {
		l.held, l.taken = 0, 0
	}
	if l.pot.Reset == 0 && p.Reset > 0 {
		l.polls = 0 // the response has come for which there were polls
	}
	l.heard, l.pot = now, *p
	l.held = min(l.held, p.Remaining) // others may have used up what they were for
	l.heldUntil = c.sentAt.Add(p.ends())
	if p.Granted > 0 {
		l.grantedAt, l.usedAt = now, now
		l.held += p.Granted
		l.taken += p.Granted
	}
	if r := time.Unix(p.Reset, 0).UTC(); p.Reset > 0 && (!r.Equal(l.shown.Reset) || p.Remaining < l.shown.Remaining) {
		l.shown = petstore.RateLimit{Limit: p.Limit, Remaining: p.Remaining, Reset: r}
	}
	l.reopen = l.reopen && !c.order.Reopen
	l.plan(c, now)
	l.serve(now)
	if l.closed(now) || l.polls > 0 {
		l.wakeAll()
	}
}

// plan sets when to ask for permits again, and whether the calls wait for a limit until then.
func (l *Limiter) plan(c *command, now time.Time) {
	p, ends, polls := &l.pot, now.Add(l.pot.ends()), l.polls
	l.polls, l.closedUntil = 0, time.Time{}
	switch {
	case p.Remaining == 0 && p.Scope != "":
		l.closedUntil = ends
		l.askAt = ends.Add(1 + rand.N(spread/10))
		if rand.N(p.Processes+1) > 3 { // about three ask at once, the others when these have opened the window
			l.askAt = l.askAt.Add(spread + rand.N(spread))
		}
		if p.ends() > minute+slack {
			l.askAt = now.Add(min(trust, p.ends()))
		}
	case p.Granted >= c.order.Want:
		l.askAt = now
	case p.left() > 0:
		l.askAt = now.Add(time.Duration(p.Hold)*time.Millisecond + rand.N(firstPoll/2))
		l.polls = 1
	default:
		wait := min(firstPoll<<min(polls, 10), lastPoll)
		l.askAt = now.Add(min(wait/2+rand.N(wait), p.ends()+time.Millisecond))
		l.polls = polls + 1
	}
}

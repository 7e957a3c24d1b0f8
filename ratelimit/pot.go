package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// reportAfter is how long an outcome waits for a request to travel with.
	reportAfter = 20 * time.Millisecond
	// firstPoll is the time between the first two questions to a pot that has no permit because the
	// response of another process must come first. It doubles up to lastPoll.
	firstPoll, lastPoll = 30 * time.Millisecond, time.Second
	// freePolls is how long that wait does not count against MaxWait: the process that should get
	// the response may be dead.
	freePolls = 2 * time.Second
	// tryEvery is the time between two questions while the pot fails.
	tryEvery = time.Second
	// trustFor is how long a reply is believed that the key is closed for more than a window:
	// another process may have reopened it.
	trustFor = 8 * time.Second
)

// pot is what a queue knows of the pot of its key, and what it has to report.
type pot struct {
	last  Exchange  // whose reply came last
	heard time.Time // when; zero before the first one
	sent  time.Time // when its question was sent
	ends  time.Time // end of the window of that reply
	polls int       // replies in a row without a permit for a request that waits
	since time.Time // when the first of them came

	granted [2]int    // permits of the reply that is being distributed, by class
	quiet   []*waiter // requests that have not reported their wait, since the pot may have a permit

	report   report
	reportAt time.Time     // when to send it; zero if there is none
	asking   chan struct{} // closed at the end of the exchange that is on its way; nil without one
	failed   error         // of the last exchange; the process goes on alone
	tryAt    time.Time     // not before that
}

// report is what the pot has not heard.
type report struct {
	epoch            int64
	done, spent      int
	answered, silent bool
	window           Window
	latest           int64
	rejected, reopen bool
}

// pooled reports whether permits come from a pot.
func (q *queue) pooled() bool { return q.pot != nil && q.pot.failed == nil }

// mustAsk reports whether only the pot knows if a request has to wait.
func (q *queue) mustAsk() bool { return q.pooled() && q.why.Reason == "" }

// idle reports whether nothing has to be reported.
func (p *pot) idle() bool { return p.reportAt.IsZero() && p.asking == nil }

// mark has a permit say where it is from. What is sent without the pot is after all that the pot
// gave.
func (p *pot) mark(pm *permit) {
	reply := &p.last.Reply
	pm.number, pm.ahead = reply.Number, p.failed == nil && !reply.Known
	if p.failed == nil {
		pm.epoch = reply.Epoch
	}
}

// take admits a request with a permit of the pot, or returns what it has to wait for. A lockout that
// this process knows of goes before what the pot has granted.
func (q *queue) take(now time.Time, asBackground bool) (slot, Wait, bool) {
	q.budget.observe(now)
	class := foreground
	if asBackground || q.pot.granted[foreground] == 0 {
		class = background
	}
	if q.pot.granted[class] > 0 && passed(now, q.budget.lockout.until) {
		q.pot.granted[class]--
		return q.budget.take(now, false), Wait{}, true
	}
	return slot{}, q.blocked(now, asBackground), false
}

// blocked returns why the pot has no permit, by its last reply. It returns the zero Wait if it must
// be asked.
func (q *queue) blocked(now time.Time, inBackground bool) (w Wait) {
	p, l := q.pot, &q.budget.lockout
	reply, reserve := &p.last.Reply, p.reserve(inBackground)
	response := Wait{Reason: ReasonResponse, wake: p.heard.Add(lastPoll)}
	if q.budget.inFlight == 0 { // else what this process reports may be what it waits for
		pause := max(firstPoll<<min(p.polls, 10)/2, p.heard.Sub(p.sent)/4) // a report takes as long as a question
		response.wake = p.heard.Add(min(pause, lastPoll))
	}
	switch {
	case !passed(now, l.until):
		w = Wait{Reason: Reason(l.scope), Until: l.until, wake: p.believed(l.until)}
	case p.polls == 0 || now.Before(p.heard):
		return Wait{}
	case !reply.Known, reply.Window.Remaining > reserve && now.Sub(p.since) < freePolls:
		w = response
	case reply.Left <= reserve:
		// The question takes as long as the last one, and should not come before the end.
		ends := p.sent.Add(reply.EndsIn + 5*time.Millisecond)
		w = Wait{Reason: Reason(reply.Scope), Until: p.ends, wake: p.believed(ends)}
	default:
		w = response
	}
	if passed(now, w.wake) {
		return Wait{}
	}
	return w
}

// believed returns until when a reply is believed that nothing is left until a time.
func (p *pot) believed(until time.Time) time.Time {
	if until.Sub(p.heard) > windowLength+10*time.Second {
		return p.heard.Add(trustFor)
	}
	return until
}

// reserve returns how many requests of the window must be left after one in background.
func (p *pot) reserve(inBackground bool) int {
	if inBackground {
		return p.last.Reply.Window.Limit / backgroundPart
	}
	return 0
}

// earliest is that of the budget, by the last reply of the pot.
func (q *queue) earliest(now time.Time, before int, inBackground bool) time.Time {
	if !q.pooled() {
		return q.budget.earliest(now, before, inBackground)
	}
	p, at, until := q.pot, now, q.budget.lockout.until
	if now.Before(p.believed(until)) {
		at = later(now, until)
	}
	limit := p.last.Reply.Window.Limit
	if !p.last.Reply.Known || passed(at, p.ends) || passed(now, p.believed(p.ends)) || limit == 0 {
		return at
	}
	free := p.last.Reply.Window.Remaining // those out may come back
	if now.Sub(p.since) >= freePolls && p.polls > 0 {
		free = p.last.Reply.Left
	}
	if free = max(0, free-p.reserve(inBackground)); before >= free {
		return later(at, p.ends.Add(time.Duration((before-free)/limit)*windowLength))
	}
	return at
}

// scopeAt is that of the budget, by the last reply of the pot.
func (q *queue) scopeAt(now, at time.Time) Scope {
	scope := q.budget.scopeAt(now, at)
	if q.pooled() && scope != "" && passed(now, q.budget.lockout.until) {
		return q.pot.last.Reply.Scope
	}
	return scope
}

// left is that of the budget, by the last reply of the pot.
func (q *queue) left() int {
	if q.pooled() {
		return q.pot.last.Reply.Left
	}
	return q.budget.left()
}

// ends is that of the budget, by the last reply of the pot.
func (q *queue) ends() time.Time {
	if q.pooled() {
		return later(q.pot.ends, q.budget.lockout.until)
	}
	return q.budget.ends()
}

// draw gives back the permits that nobody is left for, starts an exchange if it is time, and returns
// when to call it again; zero for never.
func (q *queue) draw(now time.Time) time.Time {
	p := q.pot
	if unused := p.granted[foreground] + p.granted[background]; unused > 0 {
		p.report.add(&report{epoch: p.last.Reply.Epoch, done: unused, answered: true})
		p.granted, p.reportAt = [2]int{}, now
	}
	q.recall(now)
	if p.asking != nil {
		return q.alone()
	}
	at := p.reportAt
	if q.pooled() && q.joined != [2]int{} {
		at = earlier(at, later(now, q.why.wake))
		if !p.reportAt.IsZero() && q.why.Reason == ReasonResponse {
			at = now
		}
	}
	if p.failed != nil {
		at = q.nextTry(now, at)
	}
	if at.IsZero() || at.After(now) {
		return earlier(at, q.alone())
	}
	p.asking = make(chan struct{})
	go q.exchange(q.question(now), p.asking, now)
	return q.alone()
}

// nextTry returns when to try a pot that has failed; zero for never: after a minute without requests
// nothing waits for it, and what it has not heard is of little use.
func (q *queue) nextTry(now, at time.Time) time.Time {
	resting := q.length() == 0 && q.budget.inFlight == 0
	if resting && (at.IsZero() || now.Sub(q.budget.heard) >= windowLength) {
		return time.Time{}
	}
	return later(at, q.pot.tryAt)
}

// alone returns when the process goes on by itself.
func (q *queue) alone() time.Time {
	if q.pooled() {
		return time.Time{}
	}
	return q.why.wake
}

// earlier returns the sooner of two times, of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// recall has the requests that are quiet report their wait, or refuses them, once it is known that
// they have to wait.
func (q *queue) recall(now time.Time) {
	if q.pooled() && q.why.Reason == "" {
		return
	}
	for _, w := range q.pot.quiet {
		if w.permit != nil || w.refused != nil || !w.joined {
			continue
		}
		if w.refused = q.late(now, w, q.ahead(w)); w.refused != nil {
			q.leave(w)
			continue
		}
		w.quiet, w.joined = false, false
		q.joined[w.class]--
		q.describe(w, now)
		w.ready <- struct{}{}
	}
	q.pot.quiet = nil
}

// question returns what to report and to ask for.
func (q *queue) question(now time.Time) *Exchange {
	p, r, b := q.pot, &q.pot.report, &q.budget
	x := &Exchange{
		Key: q.key, Number: p.last.Reply.Number, Epoch: p.last.Reply.Epoch, Opened: p.last.Reply.Opened,
		Processes: p.last.Reply.Processes, Alone: p.failed != nil,
		Counted: r.epoch, Done: r.done, Spent: r.spent, Silent: r.silent && !r.answered,
		Window: r.window, Latest: r.latest, EndsIn: b.end.Sub(now), Scope: b.window.scope(),
		Rejected: r.rejected, Reopen: r.reopen,
	}
	if r.latest == 0 {
		x.Window = b.known()
	}
	if passed(now, b.lockout.until) {
		if p.failed == nil {
			x.Want, x.Background = q.joined[foreground], q.joined[background]
		}
	} else {
		x.ClosedIn, x.Scope = b.lockout.until.Sub(now), b.lockout.scope
	}
	*r, p.reportAt = report{}, time.Time{}
	return x
}

// exchange asks the pot. The lock must not be held.
func (q *queue) exchange(x *Exchange, done chan struct{}, sent time.Time) {
	err := q.limiter.exchange(context.Background(), x)
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	now := q.limiter.now()
	q.budget.observe(now)
	q.pot.asking = nil
	close(done)
	if err != nil {
		q.fail(x, err, now)
	} else {
		q.pot.sent = sent
		q.hear(x, now)
	}
	q.dispatch(now)
}

// fail has the process go on alone after a failed exchange, and keeps what it should have reported.
func (q *queue) fail(x *Exchange, err error, now time.Time) {
	p := q.pot
	if p.failed == nil {
		q.budget.age(&p.last, now.Sub(p.heard))
	}
	p.failed, p.tryAt = err, now.Add(tryEvery)
	q.budget.pooled, q.budget.alone = false, true
	r := report{
		epoch: x.Counted, done: x.Done, spent: x.Spent, answered: !x.Silent, silent: x.Silent,
		rejected: x.Rejected, reopen: x.Reopen,
	}
	if x.Latest > 0 {
		r.window, r.latest = x.Window, x.Latest
	}
	if p.report.add(&r); p.report != (report{}) {
		p.reportAt = now
	}
}

// hear takes over what the pot has replied.
func (q *queue) hear(x *Exchange, now time.Time) {
	p, b, reply := q.pot, &q.budget, &x.Reply
	reopened := reply.Opened > p.last.Reply.Opened && !p.heard.IsZero()
	p.last, p.heard, p.failed, p.ends = *x, now, nil, now.Add(reply.EndsIn)
	p.granted = [2]int{reply.Granted, reply.Background}
	switch {
	case reply.Granted+reply.Background > 0, x.Want+x.Background == 0:
		p.polls = 0
	case p.polls == 0:
		p.since = now
		fallthrough
	default:
		p.polls++
	}
	b.processes, b.pooled, b.alone = reply.Processes, true, false
	b.adopt(reply.Window, reply.Left, p.ends, reply.Scope == ScopeDay, now)
	switch closed := now.Add(reply.ClosedIn); {
	case p.report.reopen: // the pot does not know of it yet
	case reply.ClosedIn > 0 && closed.Sub(later(b.lockout.until, now)) > resetGrain || passed(now, b.lockout.until) && reply.ClosedIn > 0:
		b.lockout.count++
		b.lockout.until, b.lockout.scope, b.lockout.untested = closed, reply.Scope, true
	case reopened && reply.ClosedIn <= 0:
		b.reopen(now)
	}
}

// age lowers what is left by what all processes have probably sent since the last reply of the pot: as
// many as before in that time, and half as many more.
func (b *budget) age(x *Exchange, since time.Duration) {
	begun := max(windowLength-x.Reply.EndsIn, time.Second)
	used := float64(x.Reply.Window.Limit - x.Reply.Left)
	if sent := int(1.5 * used * since.Seconds() / begun.Seconds()); sent > 0 && b.epoch > 0 {
		b.low = append(b.low[:0], sample{b.responses, max(0, b.left()-sent)})
	}
}

// adopt takes over what the pot knows about the window, so that the budget is right when the pot
// fails. left is without the requests in flight.
func (b *budget) adopt(w Window, left int, ends time.Time, day bool, now time.Time) {
	apart := w.Reset.Sub(b.shown)
	switch {
	case w.Limit <= 0 || passed(now, ends), b.epoch > 0 && apart < -sameWindow:
		return
	case b.epoch == 0 || apart > sameWindow:
		b.window = window{
			epoch: b.epoch + 1, limit: w.Limit, shown: w.Reset, reset: w.Reset, resetBy: b.responses,
			start: now, end: ends, day: day, slides: b.slides, other: b.day,
		}
		b.low = b.low[:0]
	}
	if low := left + b.inFlight; len(b.low) == 0 || low < b.left() {
		b.low = append(b.low[:0], sample{b.responses, low})
	}
}

// settle keeps the outcome of a request for the next exchange.
func (p *pot) settle(pm *permit, o *Outcome, b *budget, now time.Time) {
	r := report{epoch: pm.epoch, answered: !o.Received.IsZero() || o.Sent.IsZero() || o.Abandoned}
	r.silent = !r.answered
	r.rejected = o.StatusCode == http.StatusTooManyRequests
	switch described := o.Window.Limit > 0 && !o.Received.IsZero(); {
	case o.Sent.IsZero(), o.StatusCode == http.StatusUnauthorized:
		r.done = 1
	case !described:
		r.spent = 1
	default:
		r.done = 1
		if b.shown.Sub(o.Window.Reset) <= sameWindow { // else it is of a window that is over
			r.window, r.latest = o.Window, pm.number
		}
	}
	p.report.add(&r)
	at := now.Add(reportAfter)
	if r.rejected || pm.ahead {
		at = now // the others wait for it
	}
	p.reportAt = earlier(p.reportAt, at)
}

// add adds another report. Counts of older epochs are of no use.
func (r *report) add(o *report) {
	if o.epoch > r.epoch {
		r.epoch, r.done, r.spent, r.answered, r.silent = o.epoch, 0, 0, false, false
	}
	if o.epoch == r.epoch && o.epoch > 0 {
		r.done += o.done
		r.spent += o.spent
		r.answered, r.silent = r.answered || o.answered, r.silent || o.silent
	}
	switch apart := o.window.Reset.Sub(r.window.Reset); {
	case o.latest == 0:
	case r.latest == 0, apart.Abs() > sameWindow:
		r.window = o.window
	default:
		o.window.Remaining = min(o.window.Remaining, r.window.Remaining)
		if r.window = o.window; apart < 0 {
			r.window.Reset = r.window.Reset.Add(-apart)
		}
	}
	r.latest = max(r.latest, o.latest)
	r.rejected, r.reopen = r.rejected || o.rejected, r.reopen || o.reopen
}

// Flush reports to the pot of [Shared] what it has not heard: a program that ends right after its
// last request should call it. The error is that of the pot, or of ctx.
func (l *Limiter) Flush(ctx context.Context) error {
	l.mu.Lock()
	queues := make([]*queue, 0, len(l.keys))
	for _, q := range l.keys {
		queues = append(queues, q)
	}
	l.mu.Unlock()
	var failed error
	for _, q := range queues {
		failed = errors.Join(failed, q.flush(ctx))
	}
	return failed
}

func (q *queue) flush(ctx context.Context) error {
	for first := true; ; first = false {
		done, err := q.flushing(first)
		if done == nil {
			return err
		}
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("flush: %w", context.Cause(ctx))
		}
	}
}

// flushing returns the exchange that is on its way, if need be a new one, or nil if none is needed
// or the last one has failed.
func (q *queue) flushing(first bool) (done chan struct{}, err error) {
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	p, now := q.pot, q.limiter.now()
	switch {
	case p == nil:
		return nil, nil
	case p.asking != nil:
		return p.asking, nil
	case p.reportAt.IsZero():
		return nil, nil
	case p.failed != nil && !first:
		return nil, p.failed
	}
	p.reportAt, p.tryAt = now, now
	q.dispatch(now)
	return p.asking, nil
}

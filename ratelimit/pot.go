package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// reportAfter is how long a report waits for a request for permits, so that one exchange carries
	// both.
	reportAfter = 20 * time.Millisecond
	// firstPoll is the time between the first two questions to a pot that has no permit because the
	// response of another process must come first. It doubles up to lastPoll.
	firstPoll, lastPoll = 30 * time.Millisecond, time.Second
	// freePolls is the number of such questions, which take about two seconds, after which the wait
	// counts against MaxWait: the process that should get the response may be dead.
	freePolls = 6
	// tryEvery is the time between two questions while the pot fails.
	tryEvery = time.Second
	// trustFor is how long the limiter believes a reply that closes the key for more than a window.
	// Then it asks again, because another process may have reopened the key.
	trustFor = 8 * time.Second
)

// pot is what a queue knows of the pot that its key shares with other processes, and what it has to
// report to it. What the last reply said about the window and the lockout is kept in the budget, so
// that the budget can go on alone when the pot fails.
type pot struct {
	// last is the exchange whose reply came last, at heard (zero before the first), and sent is when
	// its question was sent.
	last        Exchange
	sent, heard time.Time
	// polls counts the replies in a row that had no permit although a request waited for one.
	polls int

	// These are the permits of the last reply that no request has got yet.
	granted, background int
	// quiet has the requests that have not reported their wait, because the pot may have a permit for
	// them.
	quiet []*waiter

	// report is what the pot has not heard yet, and reportAt when to send it; zero if there is
	// nothing.
	report   Exchange
	reportAt time.Time
	// asking is closed at the end of the exchange that is on its way; nil if there is none.
	asking chan struct{}
	// failed is the error of the last exchange. While it is set, the process goes on alone, and tries
	// the pot again at tryAt.
	failed error
	tryAt  time.Time
}

// pooled reports whether permits come from a pot.
func (q *queue) pooled() bool { return q.pot != nil && q.pot.failed == nil }

// mustAsk reports whether only the pot knows if a request has to wait.
func (q *queue) mustAsk() bool { return q.pooled() && q.why.reason == "" }

// idle reports whether nothing has to be reported.
func (p *pot) idle() bool { return p.reportAt.IsZero() && p.asking == nil }

// mark notes in a permit the Number of the pot's last reply and, unless the pot fails now, its
// Epoch. So a request that is sent without the pot counts as later than all that the pot has
// admitted.
func (p *pot) mark(pm *permit) {
	if pm.number = p.last.Reply.Number; p.failed == nil {
		pm.epoch = p.last.Reply.Epoch
	}
}

// take admits a request with a permit of the pot, or returns what it has to wait for. While this
// process knows of a lockout, it uses no permit of the pot.
func (q *queue) take(now time.Time, asBackground bool) (slot, hold, bool) {
	q.budget.observe(now)
	permits := &q.pot.granted
	if asBackground || *permits == 0 {
		permits = &q.pot.background
	}
	if *permits > 0 && passed(now, q.budget.lockout.until) {
		*permits--
		return q.budget.take(now, false), hold{}, true
	}
	return slot{}, q.blocked(now, asBackground), false
}

// blocked returns why the pot has no permit, by its last reply, and when to ask it again. It
// returns the zero hold if that is now.
func (q *queue) blocked(now time.Time, asBackground bool) hold {
	p, b, reply := q.pot, &q.budget, &q.pot.last.Reply
	pause := lastPoll
	// With requests in flight, the pot may wait for what this process itself will report. Otherwise
	// the pause grows from a short one; where an exchange takes long, so does the report of another
	// process, and the pause begins with a quarter of that time.
	if b.inFlight == 0 {
		pause = min(pause, max(firstPoll<<min(p.polls, 10)/2, p.heard.Sub(p.sent)/4))
	}
	h := hold{reason: ReasonResponse, wake: p.heard.Add(pause)}
	switch {
	case !passed(now, b.lockout.until):
		h = hold{b.lockout.scope, b.lockout.until, p.believed(b.lockout.until)}
	case p.polls == 0 || now.Before(p.heard):
		return hold{}
	case reply.Known && b.potLeft <= b.reserve(asBackground):
		// The next question takes as long as the last one, and should arrive just after the end.
		h = hold{reply.Reason, b.end, p.believed(p.sent.Add(reply.EndsIn + 5*time.Millisecond))}
	}
	if passed(now, h.wake) {
		return hold{}
	}
	return h
}

// believed returns until when to believe the last reply, if it said that nothing is left until the
// given time.
func (p *pot) believed(until time.Time) time.Time {
	if until.Sub(p.heard) > windowLength+10*time.Second {
		return p.heard.Add(trustFor)
	}
	return until
}

// earliest returns what budget.earliest returns, or now if the pot must be asked first.
func (q *queue) earliest(now time.Time, before int, background bool) time.Time {
	if ends := q.budget.ends(); q.pooled() && passed(now, q.pot.believed(ends)) {
		return now
	}
	return q.budget.earliest(now, before, background)
}

// draw gives back the permits that no request is left to use, starts an exchange if it is time, and
// returns when to call it again; zero for never.
func (q *queue) draw(now time.Time) time.Time {
	p := q.pot
	if unused := p.granted + p.background; unused > 0 {
		p.report.add(&Exchange{Counted: p.last.Reply.Epoch, Done: unused})
		p.granted, p.background, p.reportAt = 0, 0, now
	}
	q.recall(now)
	at, alone := p.reportAt, time.Time{}
	switch {
	case p.failed != nil:
		at, alone = q.nextTry(now), q.why.wake
	case len(q.waiters) == 0:
	case q.why.reason == ReasonResponse && !at.IsZero():
		at = now
	default:
		at = earlier(at, later(now, q.why.wake))
	}
	switch {
	case p.asking != nil:
		return alone
	case at.IsZero() || at.After(now):
		return earlier(at, alone)
	}
	p.asking = make(chan struct{})
	go q.exchange(q.question(now), now)
	return alone
}

// nextTry returns when to try a pot that has failed; zero for never: after a minute without
// requests nothing waits for it, and what it has not heard is of little use.
func (q *queue) nextTry(now time.Time) time.Time {
	p, resting := q.pot, q.waiting == 0 && q.budget.inFlight == 0
	if resting && (p.reportAt.IsZero() || now.Sub(q.budget.heard) >= windowLength) {
		return time.Time{}
	}
	return later(p.reportAt, p.tryAt)
}

// earlier returns the sooner of two times, of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// recall ends the silence of the quiet requests once it is known that they have to wait: each of
// them reports its wait, or is refused.
func (q *queue) recall(now time.Time) {
	if q.mustAsk() {
		return
	}
	for _, w := range q.pot.quiet {
		if w.permit != nil || w.refused != nil {
			continue
		}
		if q.refuseLate(now, w, q.place(w)) {
			q.leave(w)
			continue
		}
		q.remove(w)
		w.quiet, w.joined = false, false
		w.describe(now)
		w.ready <- struct{}{}
	}
	q.pot.quiet = nil
}

// question returns the next exchange: what to report, and how many permits to ask
// for. From then on, report collects only what is new.
func (q *queue) question(now time.Time) *Exchange {
	p, b, reply := q.pot, &q.budget, &q.pot.last.Reply
	x := p.report
	p.report, p.reportAt = Exchange{}, time.Time{}
	x.Key, x.Number, x.Epoch, x.Opened = q.key, reply.Number, reply.Epoch, reply.Opened
	x.Processes, x.Alone = reply.Processes, p.failed != nil
	x.EndsIn, x.Reason = b.end.Sub(now), b.window.scope()
	if x.Latest == 0 {
		x.Window = b.known()
	}
	switch {
	case !passed(now, b.lockout.until):
		x.ClosedIn, x.Reason = b.lockout.until.Sub(now), b.lockout.scope
	case p.failed == nil:
		x.Want = q.foreground()
		x.Background = len(q.waiters) - x.Want
	}
	return &x
}

// exchange asks the pot. The lock must not be held. If that fails, nothing is lost: the report is
// kept for the next exchange.
func (q *queue) exchange(x *Exchange, sent time.Time) {
	err := q.limiter.exchange(context.Background(), x)
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	p, now := q.pot, q.limiter.now()
	q.budget.observe(now)
	close(p.asking)
	if p.asking, p.failed = nil, err; err == nil {
		p.sent = sent
		q.hear(x, now)
	} else { // the process goes on alone, and keeps what it should have reported
		p.tryAt = now.Add(tryEvery)
		q.budget.pooled, q.budget.alone = false, true
		if p.report.add(x); p.report != (Exchange{}) {
			p.reportAt = now
		}
	}
	q.dispatch(now)
}

// hear takes over what the pot has replied. A reply can begin or lengthen a lockout. Only a Reopen
// by another process can end one early.
func (q *queue) hear(x *Exchange, now time.Time) {
	p, b, reply := q.pot, &q.budget, &x.Reply
	reopened := reply.Opened > p.last.Reply.Opened && !p.heard.IsZero()
	p.last, p.heard = *x, now
	p.granted, p.background = reply.Granted, reply.Background
	if p.polls++; reply.Granted+reply.Background > 0 || x.Want+x.Background == 0 {
		p.polls = 0
	}
	b.processes, b.pooled, b.alone = reply.Processes, true, false
	if b.potLeft = reply.Window.Remaining; p.polls > freePolls {
		b.potLeft = reply.Left // permits that are still out are taken for lost
	}
	b.adopt(x, now)
	l := &b.lockout
	switch closed := now.Add(reply.ClosedIn); {
	case p.report.Reopen: // the pot does not know of it yet
	case reply.ClosedIn > 0 && (passed(now, l.until) || closed.Sub(l.until) > resetGrain):
		l.count++
		l.until, l.scope, l.streak = closed, reply.Reason, max(1, l.streak)
	case reopened && reply.ClosedIn <= 0:
		b.reopen(now)
	}
}

// adopt takes over what the pot knows about the window. A window that is older than the known one
// is ignored, since replies can be late.
func (b *budget) adopt(x *Exchange, now time.Time) {
	w := x.Reply.Window
	apart := w.Reset.Sub(b.shown)
	switch {
	case w.Limit <= 0 || x.Reply.EndsIn <= 0, b.epoch > 0 && apart < -sameWindow:
		return
	case b.epoch == 0 || apart > sameWindow:
		b.window = window{
			epoch: b.epoch + 1, limit: w.Limit, shown: w.Reset, reset: w.Reset, resetBy: b.responses,
			start: now, slides: b.slides,
		}
		b.low = b.low[:0]
	}
	b.end, b.day = now.Add(x.Reply.EndsIn), x.Reply.Reason == ReasonDay
	if low := x.Reply.Left + b.inFlight; len(b.low) == 0 || low < b.left() {
		b.low = append(b.low[:0], sample{b.responses, low})
	}
}

// settle keeps the outcome of a request for the next exchange. shown is the Reset of the known
// window. Outcomes are collected for a moment, so that many requests need few exchanges.
func (p *pot) settle(pm *permit, o *Outcome, shown, now time.Time) {
	x := Exchange{Counted: pm.epoch, Done: 1, Rejected: o.StatusCode == http.StatusTooManyRequests}
	switch {
	case o.Sent.IsZero(), o.StatusCode == http.StatusUnauthorized:
	case o.Window.Limit <= 0, o.Received.IsZero():
		x.Done, x.Spent, x.Silent = 0, 1, o.Received.IsZero() && !o.Abandoned
	// With an earlier Reset, the response is from a window that is over.
	case shown.Sub(o.Window.Reset) <= sameWindow:
		x.Window, x.Latest = o.Window, pm.number
	}
	p.report.add(&x)
	at := now.Add(reportAfter)
	if x.Rejected || !p.last.Reply.Known {
		at = now // the others wait for it
	}
	p.reportAt = earlier(p.reportAt, at)
}

// add adds another report. Counts of older epochs are of no use.
func (x *Exchange) add(o *Exchange) {
	if o.Counted > x.Counted {
		x.Counted, x.Done, x.Spent = o.Counted, 0, 0
	}
	if o.Counted == x.Counted && o.Counted > 0 {
		x.Silent = o.Silent && (x.Silent || x.Done+x.Spent == 0)
		x.Done, x.Spent = x.Done+o.Done, x.Spent+o.Spent
	}
	switch w := o.Window; {
	case o.Latest == 0:
	case x.Latest > 0 && w.Reset.Sub(x.Window.Reset).Abs() <= sameWindow:
		x.Window = Window{w.Limit, min(w.Remaining, x.Window.Remaining), later(w.Reset, x.Window.Reset)}
	default:
		x.Window = w
	}
	x.Latest = max(x.Latest, o.Latest)
	x.Rejected, x.Reopen = x.Rejected || o.Rejected, x.Reopen || o.Reopen
}

// Flush reports to the pot of [Shared] what it has not heard: a program that ends right after its
// last request should call it. The error is that of the pot, or of ctx.
func (l *Limiter) Flush(ctx context.Context) error {
	for first := true; ; first = false {
		exchanges, err := l.flush(first)
		if len(exchanges) == 0 {
			return err
		}
		for _, done := range exchanges {
			select {
			case <-done:
			case <-ctx.Done():
				return fmt.Errorf("flush: %w", context.Cause(ctx))
			}
		}
	}
}

// flush begins an exchange for each key that has something to report, and returns all exchanges
// that are on their way. If the pot of a key fails, only the first flush tries it: a later one
// returns the error of its last exchange.
func (l *Limiter) flush(first bool) (exchanges []chan struct{}, failed error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for _, q := range l.keys {
		switch p := q.pot; {
		case p == nil || p.idle():
			continue
		case p.asking == nil && p.failed != nil && !first:
			failed = errors.Join(failed, p.failed)
			continue
		case p.asking == nil:
			p.reportAt, p.tryAt = now, now
			q.dispatch(now)
		}
		exchanges = append(exchanges, q.pot.asking)
	}
	return exchanges, failed
}

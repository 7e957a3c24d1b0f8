package petstoreredis

import (
	"context"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// permit allows one request. number and epoch are those of the pot's reply; epoch is 0 without
// Redis.
type permit struct {
	queue         *queue
	observer      ratelimit.Observer
	number, epoch int64
	given         time.Time
	alone         ratelimit.Permit // of a request without Redis; nil for others
	released      bool
}

// Release implements [ratelimit.Permit].
func (p *permit) Release(o ratelimit.Outcome) (lockout ratelimit.Lockout) {
	q := p.queue
	q.l.mu.Lock()
	defer q.l.mu.Unlock()
	now := q.l.now()
	var opened, closed *ratelimit.Lockout
	if !p.released {
		p.released = true
		q.users--
		opened, closed = q.settle(p, o, now)
		q.step(now)
	}
	if q.until.After(now) {
		lockout = q.lockout(q.reason, q.until)
	}
	q.l.tell(p.observer, opened, closed)
	return lockout
}

// tell reports to an observer that a key is open, or closed.
func (l *Limiter) tell(o ratelimit.Observer, opened, closed *ratelimit.Lockout) {
	if opened != nil && o != nil {
		l.unlocked(func() { o.LimitOpened(*opened) })
	}
	if closed != nil && o != nil {
		l.unlocked(func() { o.LimitClosed(*closed) })
	}
}

// settle learns from an outcome, and keeps it for the pot. It returns what to report.
func (q *queue) settle(p *permit, o ratelimit.Outcome, now time.Time) (opened, closed *ratelimit.Lockout) {
	x := outcome{Number: p.number, Epoch: p.epoch}
	counted := !o.Sent.IsZero() && o.StatusCode != http.StatusUnauthorized
	answered := counted && !o.Received.IsZero()
	rejected := answered && o.StatusCode == http.StatusTooManyRequests
	limit := ratelimit.Reason("")
	if answered && o.Window.Limit > 0 {
		limit = q.learn(&x, o, now)
	} else if counted {
		x.Spent, x.Silent = true, !answered && !o.Abandoned
	}
	switch {
	case rejected:
		closed = q.lockOut(p, &x, o, now)
	case answered:
		opened, closed = q.succeed(p, &x, limit, now)
	}
	if p.alone != nil {
		if counted {
			q.had++
		}
		p.alone.Release(q.shareOf(o))
	}
	if p.alone == nil || q.alone == nil { // else the pot needs only what the process knows
		q.report(x, rejected, now)
	}
	return opened, closed
}

// succeed returns what to report after a response that is no 429: that the key is open again, or
// that the day is used up.
func (q *queue) succeed(
	p *permit, x *outcome, limit ratelimit.Reason, now time.Time,
) (opened, closed *ratelimit.Lockout) {
	if q.closed != nil && !p.given.Before(q.opensAt) {
		opened, q.closed = q.closed, nil
	}
	if limit == ratelimit.ReasonDay && x.Remaining == 0 {
		closed = q.close(limit, now, x.end)
	}
	return opened, closed
}

// report keeps an outcome for the next command, which goes at once if other processes wait for it.
func (q *queue) report(x outcome, rejected bool, now time.Time) {
	at := now.Add(reportAfter)
	if rejected || q.pot.Since == 0 {
		at = now
	}
	if q.outcomes = append(q.outcomes, x); q.alone == nil {
		q.reportAt = earlier(q.reportAt, at)
	}
}

// learn takes the window from a response, and returns the limit that it belongs to.
func (q *queue) learn(x *outcome, o ratelimit.Outcome, now time.Time) (limit ratelimit.Reason) {
	const same = 30 * time.Second // two Resets that differ by less are of one window
	usedUp := o
	usedUp.StatusCode, usedUp.RetryAfter, usedUp.Window.Remaining = http.StatusTooManyRequests, 0, 0
	over := lockoutAfter(usedUp)
	x.end = over.Until
	x.Limit, x.Remaining, x.Reset = o.Window.Limit, o.Window.Remaining, max(1, o.Window.Reset.Unix())
	w, ahead := o.Window, o.Window.Reset.Sub(q.window.Reset)
	switch open := now.Before(q.end); {
	case open && (ahead < -same || !x.end.After(now)): // a late response
		return over.Reason
	case open && ahead <= same && w.Limit == q.window.Limit:
		w.Remaining = min(w.Remaining, q.window.Remaining)
	default:
		if q.pot.Left = w.Remaining; q.alone != nil {
			q.had = 0
		}
	}
	q.window, q.end = w, x.end
	return over.Reason
}

// lockoutAfter returns the lockout that a 429 means. Package ratelimit decides that: a limiter that
// knows nothing else is told of it.
func lockoutAfter(o ratelimit.Outcome) ratelimit.Lockout {
	p, _ := ratelimit.New().Acquire(context.Background(), ratelimit.Request{}) // never refuses its first request
	return p.Release(o)
}

// lockOut begins a lockout after a 429, or makes it longer. The second 429 in a row, and further
// ones, close the key for 1 s, 2 s, 4 s, up to a minute, at least.
func (q *queue) lockOut(p *permit, x *outcome, o ratelimit.Outcome, now time.Time) *ratelimit.Lockout {
	l, streak := lockoutAfter(o), q.pot.Streak
	if p.epoch == q.pot.Epoch {
		streak++
	}
	if streak > 1 {
		l.Until = later(l.Until, o.Received.Add(min(time.Second<<min(streak-2, 6), time.Minute)))
	}
	if l.Until.After(q.until) {
		q.until, q.reason = l.Until, l.Reason
	}
	x.until, x.Lock = q.until, index(q.reason)
	q.holds[0] = closedFor(q.reason, now, q.until, askAgain)
	q.holds[1] = q.holds[0]
	q.signal()
	return q.close(q.reason, now, q.until)
}

// close notes that the key is closed. It returns what to report: nothing if that was reported,
// unless another limit, such as a ban, makes it longer.
func (q *queue) close(reason ratelimit.Reason, now, until time.Time) *ratelimit.Lockout {
	last := q.closed
	if !until.After(now) || last != nil && !until.After(last.Until) {
		return nil
	}
	l := q.lockout(reason, until)
	q.closed, q.opensAt = &l, until
	if last != nil && last.Reason == reason {
		return nil
	}
	return &l
}

// lockout describes a lockout.
func (q *queue) lockout(reason ratelimit.Reason, until time.Time) ratelimit.Lockout {
	return ratelimit.Lockout{Reason: reason, Until: until, Window: q.window, Sent: int(q.had), Processes: q.processes()}
}

package petstoreredis

import (
	"net/http"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// sameWindow is the greatest difference of two Resets of one window, as in package ratelimit.
const sameWindow = 30 * time.Second

// permit is the [ratelimit.Permit] of one request. The lock of the limiter guards it.
type permit struct {
	queue    *queue
	observer ratelimit.Observer
	given    time.Time
	outcome  outcome          // only the numbers of the permit, until the request has an outcome
	fallback ratelimit.Permit // the permit of the fallback; nil for one of the pot
	released bool
}

// Release implements [ratelimit.Permit].
func (p *permit) Release(o ratelimit.Outcome) (lockout ratelimit.Lockout) {
	q := p.queue
	q.l.mu.Lock()
	defer q.l.mu.Unlock()
	now := q.l.now()
	var change report
	if !p.released {
		p.released = true
		change = q.takeOutcome(p, o, now)
		q.step(now)
	}
	if q.closedUntil.After(now) {
		lockout = q.lockout(q.closedBy, q.closedUntil)
	}
	change.to(p.observer, q.l)
	return lockout
}

// takeOutcome takes the outcome of a permit, and keeps it for the pot. It returns what to report.
func (q *queue) takeOutcome(p *permit, o ratelimit.Outcome, now time.Time) (change report) {
	out := p.outcome
	sent := !o.Sent.IsZero() && o.StatusCode != http.StatusUnauthorized
	responded := sent && !o.Received.IsZero()
	refused := responded && o.StatusCode == http.StatusTooManyRequests
	out.Lost = sent && (!responded || o.Window.Limit == 0)
	out.NoResponse = sent && !responded && !o.Abandoned
	if responded && !out.Lost {
		end, _ := o.WindowEnd()
		out.setWindow(o.Window, end)
		q.takeWindow(o.Window, end, now)
	}
	q.countUse(p, out.Lost || sent && !refused)
	if refused {
		q.takeLockout(o, now)
		out.Closed, out.ClosedBy = q.closedUntil.UnixMilli(), limitIndex(q.closedBy)
	}
	if responded {
		change = q.reportOf(p, o, now)
	}
	if p.fallback != nil && q.fallback != nil {
		// While Redis is away, the outcome of a permit of the fallback is not kept. Once Redis is
		// back, command.Known tells the pot what the process has learned of the window and of a
		// lockout.
		o.Window = q.shareOf(o.Window)
		p.fallback.Release(o)
	} else {
		q.collect(out, now)
	}
	return change
}

// countUse corrects the number of used permits. A permit of the pot was added when it was given. It
// is subtracted if the window has not counted its request. A request of the fallback is added if
// the window may have counted it.
func (q *queue) countUse(p *permit, counted bool) {
	switch {
	case p.fallback != nil && counted:
		q.used++
	case p.fallback == nil && !counted && p.outcome.Epoch == q.epoch:
		q.used--
	}
}

// takeWindow takes the window from a response, unless a later window is known.
func (q *queue) takeWindow(w ratelimit.Window, end, now time.Time) {
	resetMoved := w.Reset.Sub(q.window.Reset)
	switch {
	case now.Before(q.windowEnd) && resetMoved < 0:
		return
	case now.Before(q.windowEnd) && resetMoved <= sameWindow:
		w.Remaining = min(w.Remaining, q.window.Remaining)
	default: // another window
		q.pot.Left = w.Remaining
		if q.fallback != nil {
			q.epoch, q.used, q.fallback.firstShare = 0, 0, 0
		}
	}
	q.window, q.windowEnd = w, end
}

// takeLockout begins a lockout after a 429, or makes it longer.
func (q *queue) takeLockout(o ratelimit.Outcome, now time.Time) {
	until, limit := o.LockoutEnd(q.pot.Streak + 1)
	if until.After(q.closedUntil) {
		q.closedUntil, q.closedBy = until, limit
	}
	closed := limitUntil(q.closedBy, now, q.closedUntil)
	q.obstacles = [2]obstacle{closed, closed}
	q.wakeWaiters()
}

// collect adds an outcome to the next command, which goes at once if other processes wait for it.
func (q *queue) collect(out outcome, now time.Time) {
	q.outcomes = append(q.outcomes, out)
	othersWait := out.Closed > 0 || q.pot.FirstResponse == 0
	switch {
	case q.fallback != nil: // the outcome goes when Redis is tried again
	case othersWait:
		q.sendAt = now
	default:
		q.sendAt = earlier(q.sendAt, now.Add(reportAfter))
	}
}

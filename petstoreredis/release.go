package petstoreredis

import (
	"net/http"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// Release implements [ratelimit.Permit].
func (t *ticket) Release(o ratelimit.Outcome) (lockout ratelimit.Lockout) {
	q := t.queue
	q.l.mu.Lock()
	defer q.l.mu.Unlock()
	now := q.l.now()
	var r report
	if t.admitted {
		q.users--
		r = q.settle(t, o, now)
		q.step(now)
	}
	if q.closedUntil.After(now) {
		lockout = q.lockout(q.closedBy, q.closedUntil)
	}
	t.notify(r)
	return lockout
}

// settle learns from the outcome of a permit, and keeps it for the pot. It returns what to report.
func (q *queue) settle(t *ticket, o ratelimit.Outcome, now time.Time) (r report) {
	t.admitted = false
	x := t.outcome
	counted := !o.Sent.IsZero() && o.StatusCode != http.StatusUnauthorized
	answered := counted && !o.Received.IsZero()
	if answered && o.Window.Limit > 0 {
		q.learn(&x, o, now)
	} else if counted {
		x.Spent, x.Silent = true, !answered && !o.Abandoned
	}
	if answered {
		r = q.change(t, &x, o, now)
	}
	if t.fallback != nil {
		if counted {
			q.granted++
		}
		o.Window = q.shareOf(o.Window)
		t.fallback.Release(o)
	}
	if t.fallback == nil || q.fallback == nil { // while Redis is away, command.Known is enough
		q.keep(x, now)
	}
	return r
}

// change closes or opens the key after a response. It returns what to report.
func (q *queue) change(t *ticket, x *outcome, o ratelimit.Outcome, now time.Time) report {
	last := q.reported
	switch {
	case o.StatusCode == http.StatusTooManyRequests:
		return q.lockOut(x, o, now)
	case limits[x.Reason] == ratelimit.ReasonDay && x.Remaining == 0:
		return q.close(ratelimit.ReasonDay, now, x.end)
	case last.Reason != "" && !t.admittedAt.Before(last.Until):
		q.reported = ratelimit.Lockout{}
		return func(observer ratelimit.Observer) { observer.LimitOpened(last) }
	}
	return nil
}

// keep stores an outcome for the next command, which goes at once if other processes wait for it.
func (q *queue) keep(x outcome, now time.Time) {
	q.outcomes = append(q.outcomes, x)
	switch othersWait := !x.until.IsZero() || q.pot.FirstResponse == 0; {
	case q.fallback != nil: // the outcome goes when Redis is tried again
	case othersWait:
		q.reportAt = now
	default:
		q.reportAt = earlier(q.reportAt, now.Add(reportAfter))
	}
}

// learn takes the window from a response, unless a later window is known.
func (q *queue) learn(x *outcome, o ratelimit.Outcome, now time.Time) {
	const same = 30 * time.Second // two Resets that differ by less are of one window
	w := o.Window
	x.Limit = w.Limit
	x.Remaining = w.Remaining
	x.Reset = max(1, w.Reset.Unix())
	end, limit := o.WindowEnd()
	x.end, x.Reason = end, limitIndex(limit)
	switch ahead := w.Reset.Sub(q.window.Reset); {
	case now.Before(q.windowEnd) && ahead < 0:
		return
	case now.Before(q.windowEnd) && ahead <= same:
		w.Remaining = min(w.Remaining, q.window.Remaining)
	default:
		if q.pot.Left = w.Remaining; q.fallback != nil {
			q.granted, q.taken = 0, 0
		}
	}
	q.window, q.windowEnd = w, x.end
}

// lockOut begins a lockout after a 429, or makes it longer.
func (q *queue) lockOut(x *outcome, o ratelimit.Outcome, now time.Time) report {
	until, limit := o.LockoutEnd(q.pot.Streak + 1)
	if until.After(q.closedUntil) {
		q.closedUntil, q.closedBy = until, limit
	}
	x.until, x.Reason = q.closedUntil, limitIndex(q.closedBy)
	closed := closedFor(q.closedBy, now, q.closedUntil)
	q.holds = [2]hold{closed, closed}
	q.signal()
	return q.close(q.closedBy, now, q.closedUntil)
}

// close records that the key is closed. It returns the report; none if the lockout was reported,
// and no other limit, such as a ban, makes it longer.
func (q *queue) close(reason ratelimit.Reason, now, until time.Time) report {
	last := q.reported
	if !until.After(now) || !until.After(last.Until) {
		return nil
	}
	q.reported = q.lockout(reason, until)
	if last.Reason == reason {
		return nil
	}
	closed := q.reported
	return func(o ratelimit.Observer) { o.LimitClosed(closed) }
}

// lockout describes a lockout.
func (q *queue) lockout(reason ratelimit.Reason, until time.Time) ratelimit.Lockout {
	return ratelimit.Lockout{
		Reason: reason, Until: until, Window: q.window, Sent: int(q.granted), Processes: q.processes(),
	}
}

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
	admitted time.Time
	numbers  potOutcome       // the numbers of the permit, without an outcome yet
	fallback ratelimit.Permit // the permit of the fallback; nil for one of the pot
	released bool
}

// report reports to an observer that a lockout or a wait began or ended; nil if none did.
type report func(o ratelimit.Observer)

// to gives the report to an observer, unless one of them is nil. It releases the lock meanwhile.
func (r report) to(o ratelimit.Observer, l *Limiter) {
	if r != nil && o != nil {
		l.unlocked(func() { r(o) })
	}
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
		change = q.record(p, o, now)
		q.step(now)
	}
	if q.closedUntil.After(now) {
		lockout = q.lockout(q.closedBy, q.closedUntil)
	}
	change.to(p.observer, q.l)
	return lockout
}

// record takes the outcome of a permit, and keeps it for the pot. It returns what to report.
func (q *queue) record(p *permit, o ratelimit.Outcome, now time.Time) (change report) {
	out := p.numbers
	counted := !o.Sent.IsZero() && o.StatusCode != http.StatusUnauthorized
	responded := counted && !o.Received.IsZero()
	if responded && o.Window.Limit > 0 {
		q.updateWindow(&out, o, now)
	} else if counted {
		out.Lost, out.NoResponse = true, !responded && !o.Abandoned
	}
	refused := o.StatusCode == http.StatusTooManyRequests
	q.updateShare(p, out.Lost || counted && !refused)
	if responded {
		if refused {
			q.startLockout(&out, o, now)
		}
		change = q.reportOf(p.admitted, &out, now)
	}
	if p.fallback != nil && q.fallback != nil {
		// While Redis is away, the outcome of a permit of the fallback is not kept. Once Redis is
		// back, command.Known tells the pot what the process has learned of the window and of a
		// lockout.
		o.Window = q.shareOf(o.Window)
		p.fallback.Release(o)
	} else {
		q.keep(out, now)
	}
	return change
}

// updateShare corrects the number of used permits. A permit of the pot was added when it was
// granted. It is subtracted if the window has not counted its request. A request of the fallback is
// added if the window may have counted it.
func (q *queue) updateShare(p *permit, counted bool) {
	switch {
	case p.fallback != nil && counted:
		q.used++
	case p.fallback == nil && q.fallback == nil && !counted:
		q.giveBack(p.numbers.Epoch)
	}
}

// updateWindow takes the window from a response, unless a later window is known.
func (q *queue) updateWindow(out *potOutcome, o ratelimit.Outcome, now time.Time) {
	w := o.Window
	end, limit := o.WindowEnd()
	out.Limit = w.Limit
	out.Remaining = w.Remaining
	out.Reset = max(1, w.Reset.Unix())
	out.Ends, out.Reason = end.UnixMilli(), limitIndex(limit)
	ahead := w.Reset.Sub(q.window.Reset)
	switch {
	case now.Before(q.windowEnd) && ahead < 0:
		return
	case now.Before(q.windowEnd) && ahead <= sameWindow:
		w.Remaining = min(w.Remaining, q.window.Remaining)
	default:
		q.pot.Left = w.Remaining
		if q.fallback != nil {
			q.used, q.fallback.most = 0, 0
		}
	}
	q.window, q.windowEnd = w, end
}

// startLockout begins a lockout after a 429, or makes it longer.
func (q *queue) startLockout(out *potOutcome, o ratelimit.Outcome, now time.Time) {
	until, limit := o.LockoutEnd(q.pot.Streak + 1)
	if until.After(q.closedUntil) {
		q.closedUntil, q.closedBy = until, limit
	}
	out.Closed, out.Reason = q.closedUntil.UnixMilli(), limitIndex(q.closedBy)
	closed := limitUntil(q.closedBy, now, q.closedUntil)
	q.obstacles = [2]obstacle{closed, closed}
	q.signal()
}

// keep stores an outcome for the next command, which goes at once if other processes wait for it.
func (q *queue) keep(out potOutcome, now time.Time) {
	q.next.Outcomes = append(q.next.Outcomes, out)
	othersWait := out.Closed > 0 || q.pot.FirstResponse == 0
	switch {
	case q.fallback != nil: // the outcome goes when Redis is tried again
	case othersWait:
		q.sendAt = now
	default:
		q.sendAt = earlier(q.sendAt, now.Add(reportAfter))
	}
}

// reportOf returns the report of the lockout that began or ended with the response `out`.
func (q *queue) reportOf(admitted time.Time, out *potOutcome, now time.Time) report {
	last := q.reported
	switch {
	case out.Closed > 0:
		return q.reportClosed(now, q.closedBy, q.closedUntil)
	case limits[out.Reason] == ratelimit.ReasonDay && out.Remaining == 0:
		return q.reportClosed(now, ratelimit.ReasonDay, time.UnixMilli(out.Ends))
	case last.Reason != "" && !admitted.Before(last.Until):
		q.reported = ratelimit.Lockout{}
		return func(o ratelimit.Observer) { o.LimitOpened(last) }
	}
	return nil
}

// reportClosed returns the report of a lockout. It returns nil if the lockout is over. It also
// returns nil if the last reported lockout still lasts, and ends no earlier or has the same limit.
// Reopen ends the last reported lockout.
func (q *queue) reportClosed(now time.Time, reason ratelimit.Reason, until time.Time) report {
	last := q.reported
	if !until.After(now) || !until.After(last.Until) {
		return nil
	}
	closed := q.lockout(reason, until)
	q.reported = closed
	if last.Reason == reason && last.Until.After(now) {
		return nil
	}
	return func(o ratelimit.Observer) { o.LimitClosed(closed) }
}

// lockout adds to the reason and the end of a lockout what is known about the key.
func (q *queue) lockout(reason ratelimit.Reason, until time.Time) ratelimit.Lockout {
	return ratelimit.Lockout{
		Reason: reason, Until: until, Window: q.window, Sent: q.used, Processes: q.knownProcesses(),
	}
}

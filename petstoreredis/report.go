package petstoreredis

import (
	"net/http"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// report tells an observer that a lockout or a wait began or ended; nil if none did.
type report func(o ratelimit.Observer)

// to gives the report to an observer, unless one of them is nil. It releases the lock meanwhile.
func (r report) to(o ratelimit.Observer, l *Limiter) {
	if r != nil && o != nil {
		l.unlocked(func() { r(o) })
	}
}

// reportOf returns the report of the lockout that began or ended with the response to a permit.
func (q *queue) reportOf(p *permit, o ratelimit.Outcome, now time.Time) report {
	last := q.reported
	end, limit := o.WindowEnd()
	switch {
	case o.StatusCode == http.StatusTooManyRequests:
		return q.reportClosed(now, q.closedBy, q.closedUntil)
	case limit == ratelimit.ReasonDay && o.Window.Remaining == 0:
		return q.reportClosed(now, limit, end)
	case last.Reason != "" && !p.given.Before(last.Until):
		q.reported = ratelimit.Lockout{}
		return func(o ratelimit.Observer) { o.LimitOpened(last) }
	}
	return nil
}

// reportClosed has a twin in ratelimit; TestPotNumbers compares them. It returns the report of a
// lockout. It returns nil if the lockout is over. It also returns nil if the last reported lockout
// still lasts, and ends no earlier or has the same limit. Reopen ends the last reported lockout.
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
		Reason: reason, Until: until, Window: q.window, Sent: q.used, Processes: q.pot.Processes,
	}
}

package ratelimit

import "time"

// reported is the last lockout that an observer was told of; zero again once the observer was told
// of its end. It may differ from the lockout in lockout.go, which only a 429 begins: a key is also
// reported as closed when a request cannot wait for the end of its window.
type reported struct {
	Lockout // zero while the key is open
	// If a request that was admitted at ends or later succeeds, the lockout is over.
	ends time.Time
}

// events is what has to be reported to an observer. They are collected under the lock, and reported
// after it: an observer may use the limiter.
type events struct {
	closed, opened *Lockout
}

// report reports the events. The functions of the observer run without a lock.
func (e *events) report(o Observer) {
	if e.closed != nil {
		o.LimitClosed(*e.closed)
	}
	if e.opened != nil {
		o.LimitOpened(*e.opened)
	}
}

// lockoutOf describes a lockout of the key. It has the numbers by which a user sees whether other
// processes have used up the limit.
func (b *budget) lockoutOf(scope Reason, until time.Time) Lockout {
	l := Lockout{Reason: scope, Until: until, Window: b.known(), Sent: b.own, Processes: b.processes}
	// The server shows the window of the day only when it is nearly used up, so own is too low.
	if scope == ReasonDay {
		l.Sent = b.hours.since(tickOf(longestWindow, until.Add(-longestWindow)))
	}
	return l
}

// closedNow returns the lockout after a 429 that is still in force; zero if there is none.
func (b *budget) closedNow(now time.Time) Lockout {
	if passed(now, b.lockout.until) {
		return Lockout{}
	}
	return b.lockoutOf(b.lockout.scope, b.lockout.until)
}

// close records that the key is closed, and returns what has to be reported: a new lockout, or one
// that another limit has made longer, such as a ban after a minute that was used up.
func (b *budget) close(l Lockout) *Lockout {
	r := &b.reported
	switch {
	case passed(b.now, l.Until):
	case r.Until.IsZero(), l.Reason != r.Reason && l.Until.After(r.Until):
		*r = reported{l, l.Until}
		return &l
	case l.Reason == r.Reason:
		r.Until = later(r.Until, l.Until)
		r.ends = r.Until
	}
	return nil
}

// opened returns the reported lockout if the success of a request shows its end. It returns nil if
// there is no such lockout.
func (b *budget) opened(s slot) *Lockout {
	r := &b.reported
	if r.Until.IsZero() || s.admitted.Before(r.ends) {
		return nil
	}
	l := r.Lockout
	*r = reported{}
	return &l
}

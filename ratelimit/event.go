package ratelimit

import "time"

// reported is the lockout that was reported last, until its end is reported. It is not always
// that of lockout.go: a key is also closed to a request that cannot wait for the end of its
// window.
type reported struct {
	Lockout           // zero while the key is open
	ends    time.Time // the success of a request that was admitted then, or later, shows its end
}

// events is what has to be reported to an observer.
type events struct {
	closed, opened *Lockout
	changed        *[2]Window // from a limit to another one
}

// report reports the events. The functions of the observer run without a lock.
func (e *events) report(o Observer) {
	if e.changed != nil {
		o.LimitChanged(e.changed[0], e.changed[1])
	}
	if e.closed != nil {
		o.LimitClosed(*e.closed)
	}
	if e.opened != nil {
		o.LimitOpened(*e.opened)
	}
}

// lockoutOf describes a lockout of the key.
func (b *budget) lockoutOf(scope Scope, until time.Time) Lockout {
	l := Lockout{Scope: scope, Until: until, Window: b.known(), Sent: b.own, Processes: b.processes}
	if scope == ScopeDay { // of which the server showed only the end
		l.Sent = b.hours.since(tickOf(longestWindow, until.Add(-longestWindow)))
	}
	return l
}

// closedNow returns the lockout after a 429 that lasts; zero if none does.
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
	case r.Until.IsZero(), l.Scope != r.Scope && l.Until.After(r.Until):
		*r = reported{l, l.Until}
		return &l
	case l.Scope == r.Scope:
		r.Until = later(r.Until, l.Until)
		r.ends = r.Until
	}
	return nil
}

// opened returns the reported lockout if the success of a request shows its end.
func (b *budget) opened(s slot) *Lockout {
	r := &b.reported
	if r.Until.IsZero() || s.admitted.Before(r.ends) {
		return nil
	}
	l := r.Lockout
	*r = reported{}
	return &l
}

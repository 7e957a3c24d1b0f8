package ratelimit

import "time"

// reported is the lockout that was reported last, until its end is reported.
type reported struct {
	Lockout           // zero while the key is open
	since   time.Time // when it was reported
	left    int       // what the window had left when it refused a request; -1 after a 429
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
		l.Sent = b.hours.since(until.Add(-longestWindow))
	}
	return l
}

// hours counts the requests of the last day by the hour.
type hours struct {
	latest int64 // hour since 1970
	counts [24]int
}

func (h *hours) add(now time.Time) {
	hour := now.Unix() / 3600
	for h.latest = max(h.latest, hour-24); h.latest < hour; {
		h.latest++
		h.counts[h.latest%24] = 0
	}
	h.counts[hour%24]++
}

// since returns the number of requests since the hour in which a day began.
func (h *hours) since(begun time.Time) (n int) {
	for hour := max(begun.Unix()/3600, h.latest-23); hour <= h.latest; hour++ {
		n += h.counts[hour%24]
	}
	return n
}

// closedNow returns the lockout after a 429 that lasts; zero if none does.
func (b *budget) closedNow(now time.Time) Lockout {
	if passed(now, b.lockout.until) {
		return Lockout{}
	}
	return b.lockoutOf(b.lockout.scope, b.lockout.until)
}

// close records that the key is closed, and returns what has to be reported: a new lockout, or one
// that another limit has made longer, such as a ban after a minute that was used up. left is what
// the window has left if that is why a request was refused, else -1.
func (b *budget) close(l Lockout, left int) *Lockout {
	r := &b.reported
	switch {
	case passed(b.now, l.Until):
	case r.Until.IsZero(), l.Scope != r.Scope && l.Until.After(r.Until):
		*r = reported{l, b.now, left}
		return &l
	case l.Scope == r.Scope:
		r.Until = later(r.Until, l.Until)
		if left < r.left { // what was sent before says nothing about the end of the lockout
			r.since, r.left = b.now, left
		}
	}
	return nil
}

// opened returns the reported lockout if the success of a request shows its end. It does if the
// request was admitted after the lockout should have ended, or during it, as after Reopen, and the
// window has more left than when it refused a request.
func (b *budget) opened(s slot, o *Outcome) *Lockout {
	r := &b.reported
	ended := !s.admitted.Before(r.Until)
	early := !s.admitted.Before(r.since) && o.Window.Remaining > r.left && passed(b.now, b.lockout.until)
	if r.Until.IsZero() || !ended && !early {
		return nil
	}
	l := r.Lockout
	*r = reported{}
	return &l
}

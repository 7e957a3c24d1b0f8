package ratelimit

import "time"

// lockout is the time after a 429 in which the key sends nothing (rule 5).
type lockout struct {
	until    time.Time // nothing is sent before this time
	scope    Scope     // the limit of the 429
	rejected bool      // since the last 429, no request sent after it has succeeded
	streak   int       // lockouts in a row
	count    int       // lockouts so far
}

// Reopen allows one probe although the key is closed, and reports whether it does (rule 9). It does
// not if the key is open, or if a probe is in flight.
func (b *budget) reopen(now time.Time) bool {
	now = b.observe(now)
	l := &b.lockout
	usedUp := !l.rejected && !passed(now, b.end) && b.left() <= b.reserve(false)
	if passed(now, l.until) && !usedUp {
		return false
	}
	l.until, l.scope, l.streak = time.Time{}, "", 0
	l.rejected = true // so that the next one is a probe
	return true
}

// reject begins a lockout after a 429, or makes it longer.
func (b *budget) reject(s slot, o Outcome) {
	l := &b.lockout
	if s.lockouts == l.count { // not a further 429 to requests sent before the lockout
		l.count++
		l.streak++
	}
	switch {
	case l.rejected:
	case s.probe && s.epoch > 0: // the window was assumed to be over, but was not
		b.margin = resetGrain
	case !s.probe && o.Window.Remaining == 0 && o.RetryAfter <= windowLength:
		b.others.trust = trustAfterForeign // another process used up the window
	}
	switch {
	case b.freesOneByOne(&o):
		o.RetryAfter = max(o.RetryAfter, windowLength/2)
	case b.slides && b.isShared() && !b.pooled:
		// All processes that share a sliding window wait for the same request to leave it. The one
		// that got a 429 leaves what becomes free to the others.
		o.RetryAfter = max(o.RetryAfter, windowLength)
	}
	l.rejected = true
	opens, scope := b.after429(&o)
	if until := later(opens, o.Received.Add(b.backoff(opens.IsZero()))); until.After(l.until) {
		l.until, l.scope = until, scope
	}
}

// freesOneByOne reports whether short lockouts follow each other, without  The service then
// counts in a sliding window, in which requests become free one by one.
func (b *budget) freesOneByOne(o *Outcome) bool {
	again := b.lockout.count > 1 && o.Received.Sub(b.lockout.until) < windowLength
	return b.epoch == 0 && o.RetryAfter > 0 && again
}

// after429 is After429 with what earlier responses have shown. The end of the window counts if it
// is used up, or if there is no Retry-After.
func (b *budget) after429(o *Outcome) (opens time.Time, scope Scope) {
	end, usable := b.endOf(o, o.Received)
	if o.RetryAfter > 0 { // which is rounded up
		opens = o.Received.Add(o.RetryAfter)
		end, usable = b.endWithin(o, o.Received, 0)
	}
	if !usable {
		end = time.Time{}
	}
	if o.Window.Remaining == 0 || opens.IsZero() {
		opens = later(opens, end)
	}
	if end.IsZero() {
		end = o.Received.Add(windowLength)
	}
	const slack = 2 * time.Second // Retry-After and Reset are both rounded
	switch {
	case opens.Sub(end) > slack:
		return opens, ScopeBan
	case opens.Sub(o.Received) > windowLength+slack:
		return opens, ScopeDay
	}
	return opens, ScopeMinute
}

// backoff returns the shortest lockout after a 429. It is 0 after the first 429 in a row that has
// Retry-After or Reset. Without them (unknown), it is a window, doubled up to 16 windows; else 1 s,
// doubled up to a minute.
func (b *budget) backoff(unknown bool) time.Duration {
	switch {
	case unknown:
		return windowLength << min(b.lockout.streak-1, 4)
	case b.lockout.streak > 1:
		return min(time.Second<<min(b.lockout.streak-2, 6), windowLength)
	}
	return 0
}

// reported is the lockout that was reported last, until its end is reported.
type reported struct {
	Lockout           // zero while the key is open
	since   time.Time // when it was reported
	left    int       // what the window had left when it refused a request; -1 after a 429
}

// events is what has to be reported to an observer.
type events struct {
	closed, opened *Lockout
	from, to       Window // another limit; zero if it has not changed
}

// report reports the events. The functions of the observer run without a lock.
func (e *events) report(o Observer) {
	if !e.to.IsZero() {
		o.LimitChanged(e.from, e.to)
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

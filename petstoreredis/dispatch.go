package petstoreredis

import "time"

// dispatch gives permits to the first waiters, as many as there are, and sends a command to Redis if
// it is time for one.
func (l *Limiter) dispatch(now time.Time) {
	l.expire(now)
	l.calls.Serve(now, func(bool) (*permit, bool) { return l.take(now) })
	l.calls.SetLimited(now, l.calls.Len() > 0 && l.limited(now))
	if at, ok := l.due(); ok && !l.busy && !now.Before(at) {
		l.send(now)
	}
	l.arm(now)
}

// limited reports whether the first waiter waits for a limit, and not for Redis or a response.
func (l *Limiter) limited(now time.Time) bool {
	return l.rules().earliest(now, 0).After(now) || l.fallback.share == nil && l.known.full
}

// refuseAsked refuses waiters after a command that got no permit for them: those that cannot be
// served in time, and those that must not wait for a limit. The others report what they wait for.
func (l *Limiter) refuseAsked(now time.Time) {
	l.calls.RefuseLate(now)
	limited := l.limited(now)
	l.calls.Each(func(w *waiter, before int) {
		at := l.rules().earliest(now, before)
		switch {
		case w.Number > l.asked: // it came after the command
		case limited && w.MaxWait == 0:
			l.calls.Refuse(w, (*budget)(l).Refusal(now, at))
		default:
			l.calls.Tell(now, w, l.wait(now, at))
		}
	})
}

// expire drops the unused permits after the end of the lease: Redis counts them as lost.
func (l *Limiter) expire(now time.Time) {
	if !now.Before(l.until) {
		l.unused = nil
	}
}

// arm sets the alarm to the next time at which there is something to do.
func (l *Limiter) arm(now time.Time) {
	at, ok := l.due()
	if l.busy { // the reply will call dispatch
		ok = false
	}
	if s := l.fallback.share; s != nil && l.calls.Len() > 0 && !s.wake.IsZero() && (!ok || s.wake.Before(at)) {
		at, ok = s.wake, true
	}
	if !ok {
		at = time.Time{}
	}
	l.calls.SetAlarm(now, at)
}

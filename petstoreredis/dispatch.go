package petstoreredis

import "time"

// dispatch gives permits to the first of the queue, as many as there are, and sends a command to
// Redis if one must be sent now.
func (l *Limiter) dispatch(now time.Time) {
	l.expire(now)
	l.queue.each(func(w *waiter, ahead int) {
		if ahead > 0 {
			return
		}
		if p := l.take(now); p != nil {
			w.permit = p
			l.queue.leave(w)
		}
	})
	l.queue.note(now, l.queue.len() > 0 && l.limited(now))
	if at, ok := l.due(); ok && !l.busy && !now.Before(at) {
		l.send(now)
	}
	l.arm(now)
}

// limited reports whether the first of the queue waits for a limit, and not for Redis or a
// response.
func (l *Limiter) limited(now time.Time) bool {
	return l.earliest(now, 0).After(now) || l.fallback.share == nil && l.known.full
}

// refuse refuses the calls that cannot be served in time any more. If denied is true, the command
// of that number has got nothing, and those that it asked for learn what they wait for.
func (l *Limiter) refuse(now time.Time, seq int, denied bool) {
	clock, limited := l.queue.clock(now), l.limited(now)
	l.queue.each(func(w *waiter, ahead int) {
		at, asked := l.earliest(now, ahead), denied && w.asked == seq
		switch {
		case w.late(now, at, w.spent(clock)) || asked && limited && w.maxWait == 0:
			w.refused = l.refusal(now, at)
			l.queue.leave(w)
		case asked:
			w.report(l.wait(now, at))
		}
	})
}

// expire forgets what the lease does not cover any more: Redis counts it as lost.
func (l *Limiter) expire(now time.Time) {
	if !now.Before(l.until) {
		l.unused = nil
	}
}

// arm sets the timer to when something is to be done next, and stops it if nothing is.
func (l *Limiter) arm(now time.Time) {
	at, ok := l.due()
	if l.busy { // the reply will do it
		ok = false
	}
	if s := l.fallback.share; s != nil && l.queue.len() > 0 {
		if !s.wake.IsZero() && (!ok || s.wake.Before(at)) {
			at, ok = s.wake, true
		}
	}
	if !ok {
		at = time.Time{}
	}
	if at.Equal(l.wakeAt) {
		return
	}
	if l.timer != nil {
		l.timer.Stop() // without effect if it has just fired: to look once more does no harm
		l.timer = nil
	}
	l.wakeAt = at
	if !at.IsZero() {
		l.timer = time.AfterFunc(at.Sub(now), l.wake)
	}
}

func (l *Limiter) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer, l.wakeAt = nil, time.Time{}
	l.dispatch(time.Now())
}

package petstoreredis

import (
	"context"
	"errors"
	"time"
)

const (
	// holdFor is how long a permit is kept that nobody has asked for.
	holdFor = 500 * time.Millisecond
	// wideHoldFor is the same while less than half of the window is taken, and nobody waits.
	wideHoldFor = 2 * time.Second
	// idleFor is how long a process may be about to ask for more before it reports what it has got.
	idleFor = 20 * time.Millisecond
	// ahead is how many permits a process asks for at most beyond those that its calls wait for.
	ahead = 64
	// keptReports bounds what there is to report after Redis was away.
	keptReports = 32
	// lookEvery is how often at most Redis is asked for calls that are refused without asking.
	lookEvery = 10 * time.Second
	// sameWindow is how far the Resets of one window may lie apart.
	sameWindow = 30 * time.Second
)

// courier is the traffic with Redis: one command at a time, with all that there is to say.
type courier struct {
	busy      bool          // a command is on its way
	back      chan struct{} // closed when it is back
	seq       int
	spoke     time.Time // when the last one left
	overdue   *time.Timer
	reports   []report
	urgent    bool      // reports that others wait for
	askAt     time.Time // not before
	anyAnswer bool      // of the fleet may open the door
	reopens   bool      // the key is to be asked for again
	missed    bool      // the command on its way has taken too long
	turn      int       // commands that Redis had had when it was last heard of
	mark      int64     // when that was, by its clock
}

// report adds what there is to say.
func (c *courier) report(r report) {
	for i := range c.reports {
		if c.reports[i].join(r) {
			return
		}
	}
	c.reports = append(c.reports, r)
	if n := len(c.reports) - keptReports; n > 0 {
		c.reports = c.reports[n:] // windows that are long over
	}
}

// unreported is how many requests there is to report of.
func (c *courier) unreported() int {
	n := 0
	for _, r := range c.reports {
		n += r.N
	}
	return n
}

// due is when to speak to Redis again, if no call and no answer comes before.
func (l *Limiter) due() (time.Time, bool) {
	switch {
	case l.absence.alone != nil:
		return l.absence.tryAt, l.line.len() > 0
	case l.urgent:
		return l.spoke, true
	}
	at, ok := l.askAt, l.line.len() > 0
	by := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	if len(l.unused) > 0 {
		by(l.since.Add(l.hold()))
	}
	// One alone is left to the next command, or to the end of the lease: it has been counted already.
	if n := l.unreported(); l.inFlight == 0 && len(l.unused) == 0 && n > 1 {
		by(l.idle.Add(idleFor))
	}
	if l.inFlight > 0 {
		by(l.spoke.Add(l.config.lease / 2))
	}
	return at, ok
}

// speak sends a command with all that there is to say.
func (l *Limiter) speak(now time.Time) {
	if l.busy {
		return
	}
	c := l.command(now)
	l.depart(c, now)
	go l.carry(c, now)
}

// depart notes that a command is on its way.
func (l *Limiter) depart(c command, now time.Time) {
	l.busy, l.back, l.urgent, l.spoke = true, make(chan struct{}), false, now
	l.reopens, l.missed = false, false
	l.overdue = time.AfterFunc(l.timeout(), func() { l.miss(c.Seq) })
}

// arrive notes that it is back.
func (l *Limiter) arrive() {
	l.overdue.Stop()
	l.busy = false
	close(l.back)
}

// quiet waits, with the lock given up meanwhile, until no command is on its way or Redis is away.
func (l *Limiter) quiet(ctx context.Context) error {
	for l.busy && l.absence.alone == nil {
		back := l.back
		l.mu.Unlock()
		select {
		case <-back:
		case <-ctx.Done():
		case <-time.After(l.timeout()): // it is missed by now
		}
		l.mu.Lock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// tell says all that there is to say, and gives back what is not used. The lock is given up meanwhile.
func (l *Limiter) tell(ctx context.Context) error {
	now := time.Now()
	l.unused = nil
	c := l.command(now)
	c.Want = 0
	l.depart(c, now)
	l.mu.Unlock()
	_, err := l.store.exchange(ctx, c)
	l.mu.Lock()
	l.arrive()
	if err != nil {
		l.restore(c)
	}
	l.dispatch(time.Now())
	return err
}

func (l *Limiter) command(now time.Time) command {
	want := l.want()
	if !now.Before(l.since.Add(l.hold())) {
		l.unused = nil // they go back by not being held any more
	}
	l.seq++
	c := command{
		ID: l.id, Seq: l.seq, Lease: l.config.lease.Milliseconds(),
		Holding: l.inFlight + len(l.unused), First: l.probing, Want: want, Memory: l.memory(now),
		Reopen: l.reopens, Instance: l.known.Instance, Commands: l.turn, At: l.mark,
	}
	for _, r := range l.reports {
		c.Reports = append(c.Reports, r.at(now))
	}
	c.reports, l.reports = l.reports, nil
	l.line.each(func(w *waiter, _ int) { w.asked = l.seq })
	return c
}

// hold is how long a permit is kept that nobody has asked for.
func (l *Limiter) hold() time.Duration {
	hold := holdFor
	if l.known.waiting == 0 && l.known.outstanding < l.known.left/2 {
		hold = wideHoldFor
	}
	return min(hold, l.config.lease/2)
}

// want is how many permits to ask for: for those who wait, or as many as will be used while they are held, going
// by how fast the last ones were.
func (l *Limiter) want() int {
	waiting := l.line.len()
	if waiting == 0 || l.absence.alone != nil {
		return 0
	}
	used := l.granted - len(l.unused)
	took := max(l.taken.Sub(l.since), time.Millisecond)
	pace := int(float64(used) * 0.8 * float64(l.hold()) / float64(took))
	return max(waiting, min(pace, 4*used, ahead))
}

// memory is what this process knows, in case that Redis has forgotten.
func (l *Limiter) memory(now time.Time) *memory {
	m := memory{Scope: string(l.known.closure)}
	if l.known.gate.After(now) {
		m.Gate = milliseconds(l.known.gate.Sub(now))
		m.Closed = max(0, now.Sub(l.known.closedAt).Milliseconds())
	}
	if o := l.last; o.RateLimit.Limit > 0 && l.known.Epoch > 0 { // otherwise the reports tell
		o.RateLimit = l.known.rateLimit
		r := newReport(slot{}, false, o, l.offset)
		r.N, r.Rejected = 0, false
		if r.resetAt.After(now) {
			r = r.at(now)
			m.Window = &r
		}
	}
	if m.Gate == 0 && m.Window == nil {
		return nil
	}
	return &m
}

// carry brings a command to Redis and the reply back.
func (l *Limiter) carry(c command, sent time.Time) {
	// Not every client of Redis looks at its deadline: miss does not depend on it.
	ctx, cancel := context.WithTimeout(context.Background(), l.longestTrip())
	defer cancel()
	r, err := l.store.exchange(ctx, c)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrive()
	now := time.Now()
	if err != nil || r.Stale {
		l.restore(c)
	}
	if err != nil {
		l.lose(now, err)
		l.dispatch(now)
		return
	}
	l.hear(c, r, sent, now)
}

// restore takes back the reports of a command that did not arrive.
func (l *Limiter) restore(c command) {
	l.reopens = l.reopens || c.Reopen
	later := l.reports
	l.reports = c.reports
	for _, r := range later {
		l.report(r)
	}
}

// errSlow is why Redis is taken for away that does not answer.
var errSlow = errors.New("no answer in time")

// miss goes on without Redis when a command takes too long, which may still come back.
func (l *Limiter) miss(seq int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy && l.seq == seq {
		now := time.Now()
		l.missed = true
		l.lose(now, errSlow)
		l.dispatch(now)
	}
}

// hear takes a reply in.
func (l *Limiter) hear(c command, r reply, sent, now time.Time) {
	if r.Stale {
		l.askAt = now.Add(holdFor)
		l.dispatch(now)
		return
	}
	l.learn(r, sent, now)
	switch {
	case l.absence.alone == nil:
		if !l.barred() {
			for range r.Granted {
				l.unused = append(l.unused, r.slot)
			}
		}
	case !l.missed: // a late reply does not end a fallback
		l.regain(now)
	}
	l.refuse(now, c.Seq, r.Granted == 0)
	l.dispatch(now)
}

// learn takes over what a reply tells, but for what it grants.
func (l *Limiter) learn(r reply, sent, now time.Time) {
	seen := l.known.rateLimit
	l.known = newKnowledge(r, now)
	if l.reopens {
		l.known.reopen()
	}
	l.known.sees(seen)
	l.turn, l.mark = r.Commands, r.At
	l.until = sent.Add(l.config.lease)
	l.askAt = now.Add(time.Duration(r.Wait) * time.Millisecond)
	l.anyAnswer = r.Reason == "response"
	if r.Granted > 0 {
		l.granted, l.since, l.taken = r.Granted, now, now
	}
	if r.Repaired {
		l.absence.repairs++
	}
	l.absence.meet(r.Processes, now)
}

// barred reports whether a 429 has come that Redis does not know of yet: what it has granted since must not be used.
func (l *Limiter) barred() bool {
	for _, r := range l.reports {
		if r.Rejected {
			return true
		}
	}
	return false
}

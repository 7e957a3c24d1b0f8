package petstoreredis

import (
	"context"
	"errors"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

const (
	// holdFor is how long a permit is kept that no call has asked for: a few times the latency of a
	// request, so that a loop of calls finds the next permit there. UNUSED in script/state.lua is
	// the same.
	holdFor = 500 * time.Millisecond
	// wideHoldFor is the same while less than half of the window is taken, and no process waits.
	wideHoldFor = 2 * time.Second
	// idleFor is how long a process may be about to ask for more before it reports what it has got.
	idleFor = 20 * time.Millisecond
	// keptReports bounds what there is to report after Redis was away.
	keptReports = 32
	// leastWait is the least time between two commands for calls that got nothing. The script says
	// longer ones; whatever a reply says, there is no busy loop.
	leastWait = 5 * time.Millisecond
	// askEvery is how often at most Redis is asked for calls that are refused without asking.
	askEvery = 10 * time.Second
)

// traffic is the exchange of commands and replies with Redis: one command at a time, with all
// outcomes since the last one.
type traffic struct {
	busy        bool          // a command is in flight
	back        chan struct{} // closed when its reply or its failure has come
	seq         int           // its number
	sentAt      time.Time     // when it was sent
	overdue     *time.Timer   // fires when it takes too long
	missed      bool          // it took too long
	reports     []report
	urgent      bool      // others wait for the reports
	askAt       time.Time // when to ask for the calls that wait
	anyResponse bool      // any response of the fleet may let a call go
	reopens     bool      // the next command opens the gate for one request
	commands    int       // that the state had seen when Redis replied last
	stateTime   int64     // when that was, by the clock of Redis in milliseconds
}

// report adds an outcome to those of the next command.
func (t *traffic) report(r report) {
	for i := range t.reports {
		if t.reports[i].join(r) {
			return
		}
	}
	t.reports = append(t.reports, r)
	if n := len(t.reports) - keptReports; n > 0 {
		t.reports = t.reports[n:] // of windows that are long over
	}
}

// unreported returns the number of requests whose outcome Redis does not know.
func (t *traffic) unreported() int {
	n := 0
	for _, r := range t.reports {
		n += r.N
	}
	return n
}

// due returns when to send the next command, if no call and no response comes before, and whether
// there is one to send.
func (l *Limiter) due() (time.Time, bool) {
	switch {
	case l.fallback.share != nil:
		return l.fallback.tryAt, l.queue.len() > 0
	case l.urgent:
		return l.sentAt, true
	}
	at, ok := l.askAt, l.queue.len() > 0
	by := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	if len(l.unused) > 0 {
		by(l.grantedAt.Add(l.hold()))
	}
	// One alone waits for the next command, or for the end of the lease: it has been counted
	// already.
	if l.inFlight == 0 && len(l.unused) == 0 && l.unreported() > 1 {
		by(l.lastResponse.Add(idleFor))
	}
	if l.inFlight > 0 {
		by(l.sentAt.Add(l.config.lease / 2))
	}
	return at, ok
}

// send sends a command with all outcomes so far, unless one is in flight.
func (l *Limiter) send(now time.Time) {
	if l.busy {
		return
	}
	c := l.command(now, l.want())
	l.begin(c, now)
	go l.sendCommand(c, now)
}

// begin notes that a command is in flight.
func (l *Limiter) begin(c command, now time.Time) {
	l.busy, l.back, l.urgent, l.sentAt = true, make(chan struct{}), false, now
	l.reopens, l.missed = false, false
	l.overdue = time.AfterFunc(l.timeout(), func() { l.onTimeout(c.Seq) })
}

// finish notes that no command is in flight any more.
func (l *Limiter) finish() {
	l.overdue.Stop()
	l.busy = false
	close(l.back)
}

// sendCommand runs a command on a goroutine of its own, and takes over its reply.
func (l *Limiter) sendCommand(c command, sent time.Time) {
	// Not every client of Redis heeds its deadline: onTimeout does not depend on it.
	ctx, cancel := context.WithTimeout(context.Background(), l.longestTrip())
	defer cancel()
	r, err := l.store.exchange(ctx, c)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finish()
	now := time.Now()
	if err != nil || r.Stale {
		l.restore(c)
	}
	switch {
	case err != nil:
		l.startFallback(now, err)
	case r.Stale:
		l.askAt = now.Add(holdFor)
	default:
		l.onReply(c, r, sent, now)
	}
	l.dispatch(now)
}

// longestTrip returns a time that is longer than a command may take.
func (l *Limiter) longestTrip() time.Duration { return l.timeout() + time.Millisecond }

// restore takes back the reports of a command that failed. If it was carried out nevertheless, they
// are reported twice, which does no harm.
func (l *Limiter) restore(c command) {
	l.reopens = l.reopens || c.Reopen
	later := l.reports
	l.reports = c.reports
	for _, r := range later {
		l.report(r)
	}
}

// errSlow is the reason of a fallback when Redis does not respond in time.
var errSlow = errors.New("no response in time")

// onTimeout goes on without Redis when a command takes too long. Its reply may still come.
func (l *Limiter) onTimeout(seq int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy && l.seq == seq {
		now := time.Now()
		l.missed = true
		l.startFallback(now, errSlow)
		l.dispatch(now)
	}
}

// onReply takes over a reply: what it says, and the permits that it grants.
func (l *Limiter) onReply(c command, r reply, sent, now time.Time) {
	l.learn(r, sent, now)
	if r.Granted < c.Want {
		l.askAt = quota.Later(l.askAt, now.Add(leastWait))
	}
	switch {
	case l.fallback.share == nil:
		if !l.barred() {
			for range r.Granted {
				l.unused = append(l.unused, r.slot)
			}
		}
	case !l.missed: // a late reply does not end a fallback
		l.endFallback(now)
	}
	l.refuse(now, c.Seq, r.Granted == 0)
}

// learn takes over what a reply says, except for what it grants.
func (l *Limiter) learn(r reply, sent, now time.Time) {
	seen := l.known.rateLimit
	l.known = newKnowledge(r, now)
	if l.reopens {
		l.known.reopen()
	}
	l.known.observe(seen)
	l.commands, l.stateTime = r.Commands, r.At
	l.until = sent.Add(l.config.lease)
	l.askAt = now.Add(time.Duration(r.Wait) * time.Millisecond)
	l.anyResponse = r.Reason == "response"
	if r.Granted > 0 {
		l.granted, l.grantedAt, l.usedAt = r.Granted, now, now
	}
	if r.Repaired {
		l.fallback.repairs++
		l.note(now)
	}
	l.fallback.countProcesses(r.Processes, now)
}

// barred reports whether there is a 429 that Redis does not know of yet: permits that it has
// granted since must not be used.
func (l *Limiter) barred() bool {
	for _, r := range l.reports {
		if r.Rejected {
			return true
		}
	}
	return false
}

// awaitReply waits, with the lock given up meanwhile, until no command is in flight or Redis is
// away.
func (l *Limiter) awaitReply(ctx context.Context) error {
	for l.busy && l.fallback.share == nil {
		back, timeout := l.back, l.timeout()
		l.mu.Unlock()
		select {
		case <-back:
		case <-ctx.Done():
		case <-time.After(timeout): // it is missed by now
		}
		l.mu.Lock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// flush sends a command that asks for nothing and keeps nothing. The lock is given up meanwhile.
func (l *Limiter) flush(ctx context.Context) error {
	now := time.Now()
	l.unused = nil
	c := l.command(now, 0)
	l.begin(c, now)
	l.mu.Unlock()
	_, err := l.store.exchange(ctx, c)
	l.mu.Lock()
	l.finish()
	if err != nil {
		l.restore(c)
	}
	l.dispatch(time.Now())
	return err
}

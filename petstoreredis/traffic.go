package petstoreredis

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

const (
	// holdFor is how long an unused permit is kept: a few times the latency of a request, so that a
	// loop of calls finds its next permit. It equals UNUSED in script/state.lua.
	holdFor = 500 * time.Millisecond
	// wideHoldFor is the same while less than half of the window is used and no process waits.
	wideHoldFor = 2 * time.Second
	// idleFor is the time after the last response in which the process may send more requests; then
	// it reports outcomes without waiting for the next command.
	idleFor = 20 * time.Millisecond
	// keptReports limits the number of reports that are kept during a fallback.
	keptReports = 32
	// leastWait is the shortest time between two commands for the same waiters. The script asks for
	// longer ones; a reply that does not must not cause a busy loop.
	leastWait = 5 * time.Millisecond
	// askEvery is the shortest time between two commands for calls that are refused immediately.
	askEvery = 10 * time.Second
)

// traffic is the exchange of commands and replies with Redis: one command at a time, with all
// outcomes since the last one.
type traffic struct {
	busy       bool              // a command is in flight
	back       chan struct{}     // closed when the command has its reply, fails or has its timeout
	seq        int               // number of the last command
	asked      int               // calls.Arrived when the last command was made
	sentAt     time.Time         // when the last command was sent
	overdue    *time.Timer       // fires at the timeout of the command
	timedOut   bool              // the command had its timeout
	reports    []report          // outcomes for the next command
	urgent     bool              // other processes wait for the reports
	askAt      time.Time         // when to send a command for the waiters
	rejected   quota.Observation // the last 429, until Redis has it; zero without one
	rejectedAt int               // seq when it came
	reopens    bool              // the next command asks for a probe, because of Reopen
}

// report adds an outcome to the next command.
func (t *traffic) report(r report) {
	for i := range t.reports {
		if t.reports[i].join(r) {
			return
		}
	}
	t.reports = append(t.reports, r)
	if n := len(t.reports) - keptReports; n > 0 {
		t.reports = t.reports[n:] // the oldest; their windows are over
	}
}

// due returns when to send the next command, and whether there is a reason for one.
func (l *Limiter) due() (time.Time, bool) {
	switch {
	case l.fallback.share != nil:
		return l.fallback.tryAt, l.calls.Len() > 0
	case l.urgent:
		return l.sentAt, true
	}
	at, ok := l.askAt, l.calls.Len() > 0
	by := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	if len(l.unused) > 0 {
		by(l.grantedAt.Add(l.hold()))
	}
	// A single outcome waits for the next command or the end of the lease: its request is counted
	// already.
	several := len(l.reports) > 1 || len(l.reports) == 1 && l.reports[0].N > 1
	if l.inFlight == 0 && len(l.unused) == 0 && several {
		by(l.lastResponse.Add(idleFor))
	}
	if l.inFlight > 0 {
		by(l.sentAt.Add(l.config.lease / 2))
	}
	return at, ok
}

// send sends a command with all reports, unless one is in flight.
func (l *Limiter) send(now time.Time) {
	if l.busy {
		return
	}
	c := l.command(now)
	l.busy, l.back, l.urgent, l.sentAt = true, make(chan struct{}), false, now
	l.reopens, l.timedOut = false, false
	l.overdue = time.AfterFunc(l.timeout(), func() { l.onTimeout(c.Seq) })
	go l.sendCommand(c, now)
}

// sendCommand sends a command and handles its reply, on a goroutine of its own.
func (l *Limiter) sendCommand(c command, sent time.Time) {
	// Some clients of Redis ignore the deadline, so that onTimeout has a timer of its own.
	ctx, cancel := context.WithTimeout(context.Background(), l.longestTrip())
	defer cancel()
	r, err := l.store.exchange(ctx, c)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.overdue.Stop()
	l.busy = false
	if !l.timedOut {
		close(l.back)
	}
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

// longestTrip returns a time that is longer than the timeout of a command.
func (l *Limiter) longestTrip() time.Duration { return l.timeout() + time.Millisecond }

// restore puts the reports of a failed command back. If the script has run nevertheless, they are
// reported twice, which does no harm.
func (l *Limiter) restore(c command) {
	l.reopens = l.reopens || c.Reopen
	later := l.reports
	l.reports = c.Reports
	for _, r := range later {
		l.report(r)
	}
}

// onTimeout starts a fallback when a command takes too long. Its reply may still come.
func (l *Limiter) onTimeout(seq int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy && l.seq == seq {
		now := time.Now()
		l.timedOut = true
		close(l.back)
		l.startFallback(now, errors.New("no response in time"))
		l.dispatch(now)
	}
}

// onReply handles a reply: its knowledge, and the permits that it grants.
func (l *Limiter) onReply(c command, r reply, sent, now time.Time) {
	l.learn(r, sent, now)
	if r.Granted < c.Want {
		l.askAt = quota.Later(l.askAt, now.Add(leastWait))
	}
	switch {
	case l.fallback.share != nil:
		if !l.timedOut { // a late reply does not end a fallback
			l.endFallback(now)
		}
	case l.rejected.StatusCode == 0 || c.Seq > l.rejectedAt: // else Redis granted before it knew the 429
		l.rejected = quota.Observation{}
		l.unused = append(l.unused, slices.Repeat([]slot{r.slot}, r.Granted)...)
	}
	if r.Granted == 0 {
		l.refuseAsked(now)
	} else {
		l.calls.RefuseLate(now)
	}
}

// learn records what a reply says, except for the permits that it grants.
func (l *Limiter) learn(r reply, sent, now time.Time) {
	seen := l.known.rateLimit
	l.known = newKnowledge(r, now)
	if l.reopens {
		l.known.reopen()
	}
	l.known.observe(seen)
	l.until = sent.Add(l.config.lease)
	l.askAt = now.Add(time.Duration(r.Wait) * time.Millisecond)
	if r.Granted > 0 {
		l.granted, l.grantedAt, l.usedAt = r.Granted, now, now
	}
	if r.Repaired {
		l.stats.Repairs++
		l.note(now)
	}
	l.fallback.countProcesses(r.Processes, now)
}

// awaitReply waits for the command in flight. It unlocks l meanwhile.
func (l *Limiter) awaitReply(ctx context.Context) error {
	back := l.back
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-back:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package petstoreredis

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

const (
	reportAfter = 20 * time.Millisecond // how long an outcome waits for the next command
	tryEvery    = time.Second           // between two commands while Redis is away
	askAgain    = 8 * time.Second       // between two commands while the key is closed for longer than longWait
	longWait    = 70 * time.Second      // longer than any window of a minute
	longestNap  = 30 * time.Second      // the longest sleep: timers stand still while a machine is suspended
	clockGrain  = 5 * time.Millisecond  // the pot is asked this much after a limit, whose end may be rounded down

	// A poll is a command that asks whether a response has come to another process.
	pollEvery   = 30 * time.Millisecond  // the first time between two polls
	pollSpread  = 2 * time.Millisecond   // added for each process, so that many processes do not poll too often in all
	longestPoll = 500 * time.Millisecond // the longest time between two polls

	unknownProcesses = 64 // the number of processes, if neither WithShare nor the pot has one
)

// queue has the requests of this process that wait for permits of one key, and what the process
// knows of the pot. It asks the pot for permits when a request waits, unless the last reply says
// that there are none yet. At most one command is on its way. In the arrays of two, index 1 is for
// background requests, index 0 for all others.
type queue struct {
	l         *Limiter
	key       string
	waiters   [2][]*waiter // in the order of their permits
	obstacles [2]obstacle  // what the waiters wait for
	polls     int          // commands in a row that asked for permits and got none
	timer     *time.Timer  // calls step

	pot         reply // the last reply
	epoch       int64 // the last window in which a permit was wanted
	used        int   // permits that this process got in that window, and its requests without Redis
	window      ratelimit.Window
	windowEnd   time.Time
	closedUntil time.Time         // the end of the last lockout
	closedBy    ratelimit.Reason  // the limit of that lockout
	reported    ratelimit.Lockout // the last reported lockout; zero once its end was reported

	next   command       // collects outcomes and a Reopen
	sendAt time.Time     // when to send next or, without Redis, when to try Redis again; zero: never
	asking chan struct{} // closed when the command on its way is over; nil if there is none

	fallback *fallback // gives permits while Redis is away; nil while Redis replies
}

// obstacle is what requests wait for.
type obstacle struct {
	reason ratelimit.Reason // empty if the pot has to be asked
	until  time.Time        // the end of the wait; zero if it depends on a response
	askAt  time.Time        // when to ask the pot again
}

// lasts reports whether it is too early to ask the pot again.
func (why obstacle) lasts(now time.Time) bool { return !why.askAt.IsZero() && !isDue(why.askAt, now) }

// isDue reports whether the time `at` has come. The zero time never comes. A time counts as come if
// it is further away than any wait, because then the clock was set back.
func isDue(at, now time.Time) bool {
	return !at.IsZero() && (!at.After(now) || at.Sub(now) > longWait)
}

// limitUntil returns the obstacle of a limit that lasts until a time. If this time is far away, the
// requests ask the pot again earlier, because another process may reopen the key.
func limitUntil(limit ratelimit.Reason, now, until time.Time) obstacle {
	why := obstacle{limit, until, until}
	if until.Sub(now) > longWait {
		why.askAt = now.Add(askAgain)
	}
	return why
}

// earlier returns the earlier of two times; a zero time stands for never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (q *queue) processes() int { return cmp.Or(q.l.processes, q.pot.Processes, unknownProcesses) }

// knownProcesses returns the number of processes for reports; 0 if nobody knows it. It is that of
// the pot. Without Redis, it is that of WithShare, if this is set.
func (q *queue) knownProcesses() int {
	if q.fallback == nil {
		return q.pot.Processes
	}
	return cmp.Or(q.l.processes, q.pot.Processes)
}

// waiting returns how many requests wait.
func (q *queue) waiting() int { return len(q.waiters[0]) + len(q.waiters[1]) }

// step sends the next command if it is time, asks the fallback if there is one, and sets the timer.
func (q *queue) step(now time.Time) {
	if q.timer != nil {
		q.timer.Stop()
	}
	if isDue(q.nextSend(now), now) {
		q.send(now)
	}
	at := q.nextSend(now)
	if q.fallback != nil {
		q.askFallback(now)
		at = earlier(at, q.nextAsk(now))
		if q.waiting() == 0 && !q.next.Reopen { // nobody needs to know whether Redis is back
			at = time.Time{}
		}
	}
	if !at.IsZero() {
		q.timer = time.AfterFunc(min(at.Sub(now), longestNap), func() {
			q.l.mu.Lock()
			defer q.l.mu.Unlock()
			q.step(q.l.now())
		})
	}
}

// nextSend returns when to send the next command; zero if one is on its way, or if none is needed.
func (q *queue) nextSend(now time.Time) time.Time {
	switch {
	case q.asking != nil:
		return time.Time{}
	case q.fallback != nil: // which gives the permits
		return q.sendAt
	}
	return earlier(q.sendAt, q.nextAsk(now))
}

// nextAsk returns when to ask for permits; zero if no request waits.
func (q *queue) nextAsk(now time.Time) (at time.Time) {
	for class, waiters := range q.waiters {
		why := q.obstacles[class]
		switch {
		case len(waiters) == 0:
		case why.lasts(now):
			at = earlier(at, why.askAt)
		default:
			return now
		}
	}
	return at
}

// send sends a command. It has the outcomes to report, and how many permits the waiters want. It
// also has what the process knows of the window and of a lockout, in case the pot was lost.
func (q *queue) send(now time.Time) {
	c := &command{
		Now: now.UnixMilli(), Number: q.pot.Number, Processes: q.pot.Processes, Fallback: q.fallback != nil,
		Epoch: q.epoch, ShareUsed: q.used, Outcomes: q.next.Outcomes, Reopen: q.next.Reopen,
	}
	q.next, q.sendAt = command{}, time.Time{}
	if q.fallback == nil { // otherwise the fallback gives the permits
		c.Want = [2]int{len(q.waiters[0]), len(q.waiters[1])}
	}
	if q.closedUntil.After(now) {
		c.Known.Closed, c.Known.Reason = q.closedUntil.UnixMilli(), limitIndex(q.closedBy)
	}
	w := q.known(now)
	if w.Limit > 0 {
		c.Known.Remaining = max(0, w.Remaining-q.processes()+1) // each other process may have sent one more
		c.Known.Limit = w.Limit
		c.Known.Reset = w.Reset.Unix()
		c.Known.Ends = q.windowEnd.UnixMilli()
	}
	q.asking = make(chan struct{})
	q.l.ask(q.key, c, func(r reply, err error) { q.ended(c, r, err, now) })
}

func fromMillis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// ended takes the reply to a command, or its error. A reply ends a time without Redis, and gives
// permits (rules 2 to 5). An error begins such a time (rule 11).
func (q *queue) ended(c *command, r reply, err error, sent time.Time) {
	q.l.mu.Lock()
	defer q.l.mu.Unlock()
	now, before := q.l.now(), q.fallback
	close(q.asking)
	q.asking = nil
	if err == nil {
		q.takeReply(c, r, now)
		q.handOut(c, r, sent, now)
	} else {
		// The outcomes of the command are not sent again, because Redis may have counted them. If
		// Redis has not counted them, their permits count as in flight until the window is over.
		q.next.Reopen = q.next.Reopen || c.Reopen
		q.sendAt = now.Add(tryEvery)
		if q.fallback == nil {
			q.beginFallback(now)
		}
		q.fallback.err = err
	}
	q.step(now)
	q.logAvailability(before, err)
}

// takeReply takes over what the pot knows. If the process has learned more from responses that came
// while the command was on its way, its window and its lockout stay: the pot will learn them with
// the next command.
func (q *queue) takeReply(c *command, r reply, now time.Time) {
	if q.fallback != nil { // Redis is back: the waiters ask the pot at once
		q.fallback, q.sendAt = nil, now
	}
	q.pot = r
	granted := r.Granted[0] + r.Granted[1]
	if c.Want != [2]int{} {
		q.polls++
		if q.epoch != r.Epoch {
			q.epoch, q.used = r.Epoch, 0
		}
		q.used += granted
	}
	if granted > 0 {
		q.polls = 0
	}
	if len(q.next.Outcomes) == 0 && !q.next.Reopen {
		q.windowEnd, q.closedUntil = now.Add(fromMillis(r.Ends-r.At)), now.Add(fromMillis(r.Closed-r.At))
		q.closedBy = limitAt(r.ClosedBy)
		q.window = ratelimit.Window{}
		if r.Limit > 0 {
			q.window = ratelimit.Window{Limit: r.Limit, Remaining: r.Remaining, Reset: time.Unix(r.Reset, 0).UTC()}
		}
	}
}

// handOut gives the permits of a reply to waiters. The other waiters wait for what the reply says.
// A permit goes back to the pot if no waiter is left for it, or if the key is closed.
func (q *queue) handOut(c *command, r reply, sent, now time.Time) {
	why, closed := q.obstacleIn(r, sent, now), q.closedUntil.After(now)
	numbers := potOutcome{Number: r.Number, Epoch: r.Epoch}
	for class, granted := range r.Granted {
		q.obstacles[class] = obstacle{}
		if c.Want[class] > granted || closed {
			q.obstacles[class] = why
		}
		for range granted {
			if closed || len(q.waiters[class]) == 0 {
				q.giveBack(r.Epoch)
				q.keep(numbers, now)
			} else {
				q.give(class, numbers, nil, now)
			}
		}
	}
	q.signal()
}

// giveBack subtracts a permit that does not count after all, if it is of the last window.
func (q *queue) giveBack(epoch int64) {
	if q.epoch == epoch {
		q.used = max(0, q.used-1)
	}
}

// give gives a permit to the first waiter of a class.
func (q *queue) give(class int, numbers potOutcome, fallback ratelimit.Permit, now time.Time) {
	w := q.waiters[class][0]
	q.waiters[class][0] = nil // so that the array does not keep it in memory
	q.waiters[class] = q.waiters[class][1:]
	w.permit = &permit{queue: q, observer: w.Observer, admitted: now, numbers: numbers, fallback: fallback}
	w.signal()
}

// obstacleIn returns what a reply says that the requests without a permit wait for.
func (q *queue) obstacleIn(r reply, sent, now time.Time) obstacle {
	wait := fromMillis(r.Wait)
	switch {
	case q.closedUntil.After(now):
		return limitUntil(q.closedBy, now, q.closedUntil)
	case r.Reason < responseIndex:
		why := limitUntil(limitAt(r.Reason), now, now.Add(wait))
		why.askAt = earlier(why.askAt, sent.Add(wait+clockGrain))
		return why
	case wait == 0: // until another process reports a response
		// If Redis is slow, there are fewer polls.
		wait = max(pollEvery+time.Duration(r.Processes)*pollSpread, now.Sub(sent)/4)
		wait = min(wait<<min(q.polls/4, 4), longestPoll) // twice as long after every four polls
		wait = wait*3/4 + rand.N(wait/2)                 // random, so that processes ask at different times
	}
	return obstacle{reason: ratelimit.ReasonResponse, askAt: now.Add(wait)}
}

// signal wakes the waiters that must report a wait, or that cannot wait until their limit ends.
func (q *queue) signal() {
	for class, why := range q.obstacles {
		for _, w := range q.waiters[class] {
			if why.until.After(w.latest) || why.reason != "" && w.wait.Reason == "" {
				w.signal()
			}
		}
	}
}

// known returns the last window, with at most what the pot had left of it; zero if it is over.
func (q *queue) known(now time.Time) (w ratelimit.Window) {
	if now.Before(q.windowEnd) {
		w = q.window
		if q.pot.FirstResponse > 0 { // a new pot knows no window, and so not what is left of it
			w.Remaining = min(w.Remaining, q.pot.Left)
		}
	}
	return w
}

// join puts w among the waiters: the request that asked first goes first.
func (q *queue) join(w *waiter) {
	waiters := q.waiters[w.class]
	if slices.Contains(waiters, w) {
		return
	}
	place := sort.Search(len(waiters), func(i int) bool { return waiters[i].Asked.After(w.Asked) })
	q.waiters[w.class] = slices.Insert(waiters, place, w)
}

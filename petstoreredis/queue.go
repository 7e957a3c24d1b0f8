package petstoreredis

import (
	"cmp"
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

	unknownProcesses = 64 // the number of processes, if neither WithShare nor the pot has one
)

// queue has the waiters of this process for one key, and what the process knows of the pot. It asks
// the pot for permits when a request waits, unless the last reply says that there are none yet. At
// most one command is on its way. In the arrays of two, index 1 is for background requests, index 0
// for all others.
type queue struct {
	l         *Limiter
	key       string
	waiters   [2][]*waiter // in the order of their permits
	obstacles [2]obstacle  // what the waiters wait for
	timer     *time.Timer  // calls step

	// The next command.
	outcomes []outcome     // to report
	reopen   bool          // Reopen was called
	sendAt   time.Time     // when to send it, if no request asks earlier; zero: never
	sending  chan struct{} // closed when the command on its way is over; nil if there is none
	polls    int           // commands in a row that asked for permits and got none

	// What the process knows.
	pot         reply // the last reply
	epoch       int64 // the last window in which a permit was wanted
	used        int   // permits that this process got in that window, and its requests without Redis
	window      ratelimit.Window
	windowEnd   time.Time
	closedUntil time.Time         // the end of the last lockout
	closedBy    ratelimit.Reason  // the limit of that lockout
	reported    ratelimit.Lockout // the last reported lockout; zero once its end was reported

	fallback *fallback // gives permits while Redis is away; nil while Redis replies
}

// obstacle is what requests wait for.
type obstacle struct {
	reason ratelimit.Reason // empty if the pot has to be asked
	until  time.Time        // the end of the wait; zero if it depends on a response
	askAt  time.Time        // when to ask the pot again
}

// lasts reports whether it is too early to ask the pot again.
func (why obstacle) lasts(now time.Time) bool { return isAhead(why.askAt, now) }

// isAhead reports whether the time `at` is still to come. A time that is further away than any wait
// counts as come, because then the clock was set back.
func isAhead(at, now time.Time) bool { return at.After(now) && at.Sub(now) <= longWait }

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

// shares returns into how many shares the process divides the limit while Redis is away.
func (q *queue) shares() int { return cmp.Or(q.l.shares, q.pot.Processes, unknownProcesses) }

// want returns how many requests of each class wait for permits.
func (q *queue) want() [2]int { return [2]int{len(q.waiters[0]), len(q.waiters[1])} }

// join puts w among the waiters: the request that asked first goes first.
func (q *queue) join(w *waiter) {
	waiters := q.waiters[w.class]
	if slices.Contains(waiters, w) {
		return
	}
	place := sort.Search(len(waiters), func(i int) bool { return waiters[i].Asked.After(w.Asked) })
	q.waiters[w.class] = slices.Insert(waiters, place, w)
}

// step sends the next command if it is time for it, and lets the fallback give permits. Then it
// sets the timer for the next step.
func (q *queue) step(now time.Time) {
	if q.timer != nil {
		q.timer.Stop()
	}
	at := q.nextSend(now)
	if !at.IsZero() && !isAhead(at, now) {
		q.send(now)
		at = time.Time{} // the reply is the next step
	}
	if q.fallback != nil {
		q.askFallback(now)
		at = earlier(at, q.nextAsk(now))
		if q.want() == [2]int{} && !q.reopen { // nobody needs to know whether Redis is back
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
	case q.sending != nil:
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

// give gives a permit to the first waiter of a class.
func (q *queue) give(class int, p *permit) {
	w := q.waiters[class][0]
	q.waiters[class] = slices.Delete(q.waiters[class], 0, 1)
	p.queue, p.observer = q, w.Observer
	w.permit = p
	w.wake()
}

// wakeWaiters wakes those that must report a wait, or that cannot wait until their limit ends.
func (q *queue) wakeWaiters() {
	for class, why := range q.obstacles {
		for _, w := range q.waiters[class] {
			if why.until.After(w.latest) || why.reason != "" && w.wait.Reason == "" {
				w.wake()
			}
		}
	}
}

package petstoreredis

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

const (
	// clockGrain is added to the end of a limit, which may be rounded down; then the pot is asked.
	clockGrain = 5 * time.Millisecond

	// A poll is a command that asks whether a response has come to another process.
	pollEvery   = 30 * time.Millisecond  // how long the first polls are apart; see obstacleIn
	pollSpread  = 2 * time.Millisecond   // added for each process, so that many processes do not poll too often in all
	longestPoll = 500 * time.Millisecond // the longest time between two polls, before it is made random
)

// command is what the script gets. Its times are Unix milliseconds by the clock of this process.
type command struct {
	Now       int64     `json:"now"`       // the time at which it is sent
	Number    int64     `json:"number"`    // the number of the last permit that this process knows
	Processes int       `json:"processes"` // the number of processes, as far as this one knows
	Fallback  bool      `json:"fallback"`  // the last command has failed
	Reopen    bool      `json:"reopen"`
	Want      [2]int    `json:"want"`  // how many requests wait; [1]: background requests
	Epoch     int64     `json:"epoch"` // the last window in which this process wanted permits
	Used      int       `json:"used"`  // how many permits of its share of that window this process has used
	Outcomes  []outcome `json:"outcomes,omitempty"`
	Known     facts     `json:"known"` // what this process knows, in case the pot was lost
}

// facts are what a response shows of the window, and the lockout that it causes.
type facts struct {
	Limit     int   `json:"limit"` // 0 if there is no window
	Remaining int   `json:"remaining"`
	Reset     int64 `json:"reset"`     // X-RateLimit-Reset, in seconds by the clock of the service
	Ends      int64 `json:"ends"`      // the end of the window
	Closed    int64 `json:"closed"`    // the end of the lockout; 0: none
	ClosedBy  int   `json:"closed_by"` // the index of the limit that caused the lockout
}

// outcome is the outcome of a request, as the script gets it.
type outcome struct {
	Number     int64 `json:"number"`      // of the permit
	Epoch      int64 `json:"epoch"`       // of the permit; 0 for a permit of the fallback
	Lost       bool  `json:"lost"`        // no window came
	NoResponse bool  `json:"no_response"` // no response came, though the caller waited for it
	facts
}

// reply is what the script returns: the numbers of the pot, and what was granted.
type reply struct {
	facts
	At        int64 `json:"at"`
	Number    int64 `json:"number"`
	Epoch     int64 `json:"epoch"`
	Wait      int64 `json:"wait"`
	Left      int   `json:"left"`
	Streak    int   `json:"streak"`
	Processes int   `json:"processes"`
	Reason    int   `json:"reason"`

	FirstResponse int64  `json:"first_response"` // of the window; 0 before it
	Granted       [2]int `json:"granted"`        // permits, in the order of Want
	Missing       bool   `json:"missing"`        // Redis had no pot
}

// lockouts returns the outcomes that closed the key, without all else. To count these twice changes
// nothing: their Epoch of 0 ends no permit, and the first one has begun a window of its own.
func lockouts(outcomes []outcome) (closing []outcome) {
	for _, o := range outcomes {
		if o.Closed > 0 {
			lockout := facts{Closed: o.Closed, ClosedBy: o.ClosedBy}
			closing = append(closing, outcome{Number: o.Number, facts: lockout})
		}
	}
	return closing
}

// limits are the reasons for which a key can be closed, by their numbers in the script: 0 to 2.
var limits = []ratelimit.Reason{ratelimit.ReasonMinute, ratelimit.ReasonDay, ratelimit.ReasonBan}

// responseIndex is the number of ReasonResponse in the script.
const responseIndex = 3

// limitIndex returns the index of a limit in limits; 0 for no limit.
func limitIndex(limit ratelimit.Reason) int { return max(0, slices.Index(limits, limit)) }

// limitAt returns the limit with an index from a reply. A damaged pot may have any index.
func limitAt(index int) ratelimit.Reason { return limits[min(max(0, index), len(limits)-1)] }

func fromMillis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// send sends the next command. While Redis is away, it wants no permits: the fallback gives them.
func (q *queue) send(now time.Time) {
	c := &command{
		Now: now.UnixMilli(), Number: q.pot.Number, Processes: q.pot.Processes, Epoch: q.epoch, Used: q.used,
		Fallback: q.fallback != nil, Reopen: q.reopen, Outcomes: q.outcomes, Known: q.known(now),
	}
	if q.fallback == nil {
		c.Want = q.want()
	}
	q.outcomes, q.reopen, q.sendAt = nil, false, time.Time{}
	q.sending = make(chan struct{})
	q.l.do(q.key, c, func(r reply, err error) { q.receive(c, r, err, now) })
}

// known returns what the process knows of the window and of a lockout.
func (q *queue) known(now time.Time) (known facts) {
	if w := q.openWindow(now); w.Limit > 0 {
		known.setWindow(w, q.windowEnd)
		known.Remaining = max(0, w.Remaining-max(0, q.pot.Processes-1)) // each other process may have sent one more
	}
	if q.closedUntil.After(now) {
		known.Closed, known.ClosedBy = q.closedUntil.UnixMilli(), limitIndex(q.closedBy)
	}
	return known
}

// openWindow returns the last window, with at most what the pot had left of it; zero if it is over.
func (q *queue) openWindow(now time.Time) (w ratelimit.Window) {
	if now.Before(q.windowEnd) {
		w = q.window
		if q.pot.FirstResponse > 0 { // a new pot knows no window, and so not what is left of it
			w.Remaining = min(w.Remaining, q.pot.Left)
		}
	}
	return w
}

func (f *facts) setWindow(w ratelimit.Window, end time.Time) {
	f.Limit, f.Remaining, f.Reset, f.Ends = w.Limit, w.Remaining, w.Reset.Unix(), end.UnixMilli()
}

// receive takes the reply to a command, or its error. A reply ends a time without Redis, and grants
// permits (rules 2 to 5). An error begins such a time (rule 11).
func (q *queue) receive(c *command, r reply, err error, sent time.Time) {
	q.l.mu.Lock()
	defer q.l.mu.Unlock()
	now := q.l.now()
	close(q.sending)
	q.sending = nil
	if r.Missing && q.pot.Missing { // although the last command has made a pot
		err = errors.New("redis does not keep the pot")
	}
	if err == nil {
		q.takeReply(c, r, now)
		q.handOut(c, r, sent, now)
	} else {
		// The outcomes of the command are not sent again, because Redis may have counted them. If
		// Redis has not counted them, their permits count as in flight until the window is over.
		q.reopen = q.reopen || c.Reopen
		q.sendAt = now.Add(tryEvery)
		if q.fallback == nil {
			q.beginFallback(now)
		}
		q.fallback.err = err
	}
	q.l.replied = q.l.replied || err == nil
	q.step(now)
	q.logAvailability(err, now)
}

// takeReply takes over what the pot knows. If the process has learned more from responses that came
// while the command was on its way, its window and its lockout stay: the pot will learn them with
// the next command.
func (q *queue) takeReply(c *command, r reply, now time.Time) {
	if q.fallback != nil { // Redis is back: the waiters ask the pot at once
		q.fallback, q.sendAt = nil, now
	}
	if r.Missing {
		r.Processes = q.pot.Processes // a new pot knows of no other process yet
	}
	q.pot = r
	if c.Want != [2]int{} {
		q.polls++
		if q.epoch != r.Epoch {
			q.epoch, q.used = r.Epoch, 0
		}
	}
	if r.Granted != [2]int{} {
		q.polls = 0
	}
	if len(q.outcomes) == 0 && !q.reopen {
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
	out := outcome{Number: r.Number, Epoch: r.Epoch}
	for class, granted := range r.Granted {
		q.obstacles[class] = obstacle{}
		if c.Want[class] > granted || closed {
			q.obstacles[class] = why
		}
		for range granted {
			if closed || len(q.waiters[class]) == 0 {
				q.collect(out, now)
			} else {
				q.used++
				q.give(class, &permit{given: now, outcome: out})
			}
		}
	}
	q.wakeWaiters()
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

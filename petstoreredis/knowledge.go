package petstoreredis

import (
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/quota"
)

const (
	// windowLength is that of the plans (section 8.1), except for the day's.
	windowLength = time.Minute
	// sameWindow is how far the Resets of one window may lie apart.
	sameWindow = 30 * time.Second
)

// knowledge is what Redis replied last, by the local clock, with what responses to this process
// have shown since.
type knowledge struct {
	slot

	rateLimit   petstore.RateLimit
	left        int  // of the window, whatever the fleet has in flight
	taken       int  // of it by this process, used or not
	outstanding int  // in flight or reserved, by the last reply of Redis
	spent       bool // nothing of the window can come to this process any more
	full        bool // only what another process returns unused can come to this one
	ends        time.Time
	unsure      bool // nothing known covers another request
	gate        time.Time
	closedBy    petstore.LimitScope // what closed the gate
	closedAt    time.Time           // when the 429 came that closed it
	day         bool                // the window is longer than a minute
	processes   int
	waiting     int // processes that wait
}

// newKnowledge reads a reply that came at now. That is later than when the script ran, which is on
// the safe side.
func newKnowledge(r reply, now time.Time) knowledge {
	after := func(ms int64) time.Time { return now.Add(time.Duration(ms) * time.Millisecond) }
	k := knowledge{
		slot: r.slot, left: r.Left, taken: r.Taken, outstanding: r.Outstanding,
		spent: r.Reason == "window", full: r.Reason == "full" && r.Granted == 0,
		ends: after(r.Ends), unsure: r.Unsure, day: r.Day,
		gate: after(r.Gate), closedBy: petstore.LimitScope(r.Scope), closedAt: after(-r.Closed),
		processes: r.Processes, waiting: r.Waiting,
	}
	k.First = false
	if r.Epoch > 0 {
		k.rateLimit = petstore.RateLimit{Limit: r.Limit, Remaining: r.Left, Reset: time.Unix(r.Shown, 0).UTC()}
	}
	return k
}

// observe takes in what a response showed.
func (k *knowledge) observe(r petstore.RateLimit) {
	switch {
	case r.Limit <= 0 || r.Reset.Before(k.rateLimit.Reset):
		return
	case r.Reset.Equal(k.rateLimit.Reset):
		r.Remaining = min(r.Remaining, k.rateLimit.Remaining)
	}
	k.rateLimit = r
}

// earliest returns a time before which a request cannot be sent that has so many others before it
// in the queue of this process; now, if nothing known prevents it.
func (k *knowledge) earliest(now time.Time, ahead int) time.Time {
	at := quota.Later(now, k.gate)
	limit, left := k.rateLimit.Limit, k.left
	if k.spent {
		left = 0
	}
	switch {
	case limit <= 0:
		return at
	case k.unsure || !at.Before(k.ends):
		return at.Add(time.Duration(max(0, ahead/limit-1)) * windowLength)
	case ahead >= left:
		return quota.Later(at, k.ends.Add(time.Duration((ahead-left)/limit)*windowLength))
	}
	return at
}

// scope returns the limit because of which a request must wait until at, empty if no known one.
func (k *knowledge) scope(now, at time.Time) petstore.LimitScope {
	switch {
	case now.Before(k.gate):
		return k.closedBy
	case !at.After(now):
		return ""
	case k.day:
		return petstore.ScopeDay
	}
	return petstore.ScopeMinute
}

// reopen forgets what keeps requests back.
func (k *knowledge) reopen() {
	k.gate, k.spent, k.full, k.unsure = time.Time{}, false, false, true
}

package petstoreredis

import (
	"time"

	"github.com/petstore/petstore-go"
)

// windowLength is that of the plans (section 8.1), the day's apart.
const windowLength = time.Minute

// knowledge is what Redis said last, by the local clock, with what own answers have added since.
type knowledge struct {
	slot
	rateLimit   petstore.RateLimit
	left        int  // of the window, whatever the fleet has on its way
	taken       int  // of it by this process, used or not
	outstanding int  // on its way, or reserved, by the last word of Redis
	spent       bool // nothing of the window can come to this process any more
	ends        time.Time
	unsure      bool // nothing known covers another request
	gate        time.Time
	closure     petstore.LimitScope // of the gate
	closedAt    time.Time           // when the 429 came that closed it
	day         bool                // the window is longer than a minute
	parties     int
	waiting     int
}

// newKnowledge reads a reply that came at now. That is later than when the script spoke, on the safe side.
func newKnowledge(r reply, now time.Time) knowledge {
	after := func(ms int64) time.Time { return now.Add(time.Duration(ms) * time.Millisecond) }
	k := knowledge{
		slot: r.slot, left: r.Left, taken: r.Taken, outstanding: r.Outstanding, spent: r.Reason == "window",
		ends: after(r.Ends), unsure: r.Unsure, gate: after(r.Gate), closure: petstore.LimitScope(r.Scope), day: r.Day,
		parties: r.Processes, waiting: r.Waiting,
	}
	k.closedAt = after(-r.Closed)
	k.First = false
	if r.Epoch > 0 {
		k.rateLimit = petstore.RateLimit{Limit: r.Limit, Remaining: r.Left, Reset: time.Unix(r.Shown, 0).UTC()}
	}
	return k
}

// sees takes in what an answer showed.
func (k *knowledge) sees(r petstore.RateLimit) {
	switch {
	case r.Limit <= 0 || r.Reset.Before(k.rateLimit.Reset):
		return
	case r.Reset.Equal(k.rateLimit.Reset):
		r.Remaining = min(r.Remaining, k.rateLimit.Remaining)
	}
	k.rateLimit = r
}

// earliest is a time before which a request with that many ahead of it in this process cannot go; now, if it is not
// known that it cannot.
func (k *knowledge) earliest(now time.Time, ahead int) time.Time {
	at := later(now, k.gate)
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
		return later(at, k.ends.Add(time.Duration((ahead-left)/limit)*windowLength))
	}
	return at
}

// scope tells what keeps a request from going before at, zero if nothing that is known.
func (k *knowledge) scope(now, at time.Time) petstore.LimitScope {
	switch {
	case now.Before(k.gate):
		return k.closure
	case !at.After(now):
		return ""
	case k.day:
		return petstore.ScopeDay
	}
	return petstore.ScopeMinute
}

// reopen forgets what keeps requests back.
func (k *knowledge) reopen() {
	k.gate, k.spent, k.unsure = time.Time{}, false, true
}

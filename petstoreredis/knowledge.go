package petstoreredis

import (
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

const (
	// windowLength is that of the plans (section 8.1), except for the day's.
	windowLength = time.Minute
	// sameWindow is how far the Resets of one window may lie apart.
	sameWindow = 30 * time.Second
)

// knowledge is the last reply of Redis, in times of the local clock, with what responses to this
// process have shown since.
type knowledge struct {
	reply

	rateLimit quota.RateLimit
	spent     bool // the window has no permit for this process any more
	full      bool // this process can only get a permit that another one returns unused
	ends      time.Time
	gate      time.Time
	closedAt  time.Time // when the 429 came that closed it
}

// newKnowledge returns the knowledge from a reply that came at now. The script ran a little earlier,
// so that its times come out late, which is safe.
func newKnowledge(r reply, now time.Time) knowledge {
	after := func(ms int64) time.Time { return now.Add(time.Duration(ms) * time.Millisecond) }
	k := knowledge{
		reply: r, spent: r.Reason == "window", full: r.Reason == "full" && r.Granted == 0,
		ends: after(r.Ends), gate: after(r.Gate), closedAt: after(-r.Closed),
	}
	if r.Epoch > 0 {
		k.rateLimit = quota.RateLimit{Limit: r.Limit, Remaining: r.Left, Reset: time.Unix(r.Shown, 0).UTC()}
	}
	return k
}

// observe records the rate limit of a response.
func (k *knowledge) observe(r quota.RateLimit) {
	switch {
	case r.Limit <= 0 || r.Reset.Before(k.rateLimit.Reset):
		return
	case r.Reset.Equal(k.rateLimit.Reset):
		r.Remaining = min(r.Remaining, k.rateLimit.Remaining)
	}
	k.rateLimit = r
}

// earliest implements rules.
func (k *knowledge) earliest(now time.Time, before int) time.Time {
	at := quota.Later(now, k.gate)
	limit, left := k.rateLimit.Limit, k.Left
	if k.spent {
		left = 0
	}
	switch {
	case limit <= 0:
		return at
	case k.Unsure || !at.Before(k.ends):
		return at.Add(time.Duration(max(0, before/limit-1)) * windowLength)
	case before >= left:
		return quota.Later(at, k.ends.Add(time.Duration((before-left)/limit)*windowLength))
	}
	return at
}

// scope implements rules.
func (k *knowledge) scope(now, at time.Time) quota.Scope {
	switch {
	case now.Before(k.gate):
		return k.Scope
	case !at.After(now):
		return ""
	case k.Day:
		return quota.Day
	}
	return quota.Minute
}

// reopen lets the next request be a probe, although the key is closed.
func (k *knowledge) reopen() {
	k.gate, k.spent, k.full, k.Unsure = time.Time{}, false, false, true
}

package fake

import (
	"fmt"
	"time"
)

// backwards is how far a clock may go back without being taken for another clock: requests on
// several goroutines read it in one order and are judged in another.
const backwards = time.Second

// banPolicy bans a key after that many further requests while it is limited; 0 is never.
type banPolicy struct {
	after int
	d     time.Duration
}

// verdict is what the limits say of one request.
type verdict struct {
	quota
	retryAt  int64  // when to come back, Unix time; 0 if the request was admitted
	reason   string // why it was not
	provoked bool   // this request is the one that earned the ban
}

// take admits a request and counts it, or refuses it and counts that.
func (k *apiKey) take(now time.Time, policy banPolicy) verdict {
	k.mu.Lock()
	defer k.mu.Unlock()
	sec := k.settle(now)
	if k.banned() {
		return k.refuse(sec, false)
	}
	if k.quota(sec).remaining > 0 {
		k.minute.add(sec)
		k.day.add(sec)
		k.streak = 0
		return verdict{quota: k.quota(sec)}
	}
	k.streak++
	provoked := policy.after > 0 && k.streak > policy.after
	if provoked {
		k.ban(now, policy.d, fmt.Sprintf("for %d requests after a 429", k.streak-1))
	}
	return k.refuse(sec, provoked)
}

// peek returns what the headers show without counting anything.
func (k *apiKey) peek(now time.Time) quota {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.quota(k.settle(now))
}

// settle brings the key to the present and returns it in Unix seconds. If the clock went back, as it
// does from one synctest bubble to the next, the windows begin anew and a ban keeps the time it had
// left.
func (k *apiKey) settle(now time.Time) int64 {
	back := now.Sub(k.seen)
	switch {
	case k.seen.IsZero() || back >= 0:
	case back >= -backwards:
		now = k.seen
	default:
		k.minute, k.day = k.minute.unused(), k.day.unused()
		k.streak, k.retryAt = 0, time.Time{}
		if k.banned() {
			k.bannedUntil = k.bannedUntil.Add(back)
		}
	}
	k.seen = now
	if !now.Before(k.bannedUntil) {
		k.bannedUntil = time.Time{}
	}
	sec := now.Unix()
	k.minute.roll(sec)
	k.day.roll(sec)
	return sec
}

func (k *apiKey) banned() bool { return !k.bannedUntil.IsZero() }

// ban bans the key until a whole second, so that the headers can say when it ends.
func (k *apiKey) ban(now time.Time, d time.Duration, reason string) {
	k.bannedUntil = time.Unix(ceilUnix(now.Add(d)), 0)
	k.banReason, k.streak = reason, 0
}

// quota returns what binds the key: the ban, or the window with fewer requests left.
func (k *apiKey) quota(sec int64) quota {
	q := tighter(k.minute.quota(k.plan.PerMinute, sec), k.day.quota(k.plan.PerDay, sec))
	if k.banned() {
		q.remaining, q.reset = 0, k.bannedUntil.Unix()
	}
	return q
}

// refuse is the verdict on a request over the limit or from a banned key.
func (k *apiKey) refuse(sec int64, provoked bool) verdict {
	q := k.quota(sec)
	k.limited++
	v := verdict{quota: q, retryAt: q.reset, provoked: provoked}
	switch {
	case k.banned():
		v.reason = fmt.Sprintf("the API key is banned until %s, %s (section 8.3)",
			k.bannedUntil.UTC().Format(time.RFC3339), k.banReason)
	default:
		span := "minute"
		if d := k.day.quota(k.plan.PerDay, sec); d.remaining == 0 && d.reset >= q.reset {
			span = "day"
		}
		v.reason = fmt.Sprintf("plan %s allows %d requests per %s, the next one at %s (section 8.1)",
			k.plan.Name, q.limit, span, time.Unix(q.reset, 0).UTC().Format(time.RFC3339))
	}
	return v
}

// toldToWait notes that an answer told the key's client when to come back.
func (k *apiKey) toldToWait(until time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if until.After(k.retryAt) {
		k.retryAt = until
	}
}

// early returns how much of the wait that the last 429 asked for is still to come.
func (k *apiKey) early(now time.Time) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.settle(now)
	if k.retryAt.IsZero() {
		return 0
	}
	return max(k.retryAt.Sub(now), 0)
}

package fake

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// backwards is how far a clock may be set back and still be taken for the same clock.
const backwards = time.Second

// verdict is the decision of the limits about one request.
type verdict struct {
	quota
	now      time.Time
	retryAt  int64  // when to come back, Unix time; 0 if the request was admitted
	reason   string // why it was not
	provoked bool   // this request earned the ban, and the client had got a 429 before
}

// serveOperation keeps to the order of the document: authentication before anything else on a path
// that exists, then the limits, then the operation.
func (x *exchange) serveOperation() response {
	if x.route.serve == nil {
		return refusal(http.StatusNotFound, "the service has no path %s; it has %s (section 4)",
			quote(x.req.URL.Path), strings.Join(operationPaths(), " and "))
	}
	if x.key == nil {
		return unauthorized(x)
	}
	v := x.key.take(x.repeat != nil)
	if v.retryAt != 0 {
		if v.provoked {
			x.note(RuleBanProvoked, "8.3", "the request earned the key a ban: "+v.reason)
		}
		return x.srv.config.behavior.limited(v)
	}
	a := x.route.serve(x)
	a.quota = v.quota
	return a
}

// take admits a request and counts it, or refuses it and counts that. An operator's request earns
// no ban, and does not keep the client from one.
func (k *apiKey) take(operator bool) verdict {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.settle()
	sec := now.Unix()
	if k.quota(sec).remaining > 0 { // a ban leaves none
		k.minute.add(sec)
		k.day.add(sec)
		if !operator {
			k.streak, k.got429 = 0, false
		}
		return verdict{quota: k.quota(sec), now: now}
	}
	v := verdict{now: now}
	if !k.banned() && !operator {
		k.streak++
		if after := k.srv.config.banAfter; after > 0 && k.streak > after {
			v.provoked = k.got429
			k.ban(now, k.srv.config.banFor, fmt.Sprintf("for %d requests after a 429", k.streak-1))
		}
	}
	k.limited++
	v.quota = k.quota(sec)
	v.retryAt, v.reason = k.refusal(v.quota, sec)
	return v
}

// quota returns the quota for the headers without counting the request: without a valid key, that
// of an unused Free plan.
func (x *exchange) quota(now time.Time) quota {
	k := x.key
	if k == nil {
		return quota{PlanFree.PerMinute, PlanFree.PerMinute, now.Unix() + minute}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.quota(k.settle().Unix())
}

// settle brings the key to the present and returns it. If the clock went back, as it does from one
// synctest bubble to the next, the windows begin anew and a ban keeps the time it had left. The
// clock is read here, under the lock, or a goroutine that was held up would look like a clock set
// back.
func (k *apiKey) settle() time.Time {
	now := k.srv.Now()
	back := now.Sub(k.seen)
	switch {
	case k.seen.IsZero() || back > 0:
	case back >= -backwards:
		now = k.seen
	default:
		k.minute, k.day = k.srv.keys.unused.minute, k.srv.keys.unused.day
		k.retryAt = time.Time{}
		if k.banned() {
			k.bannedUntil = k.bannedUntil.Add(back)
		}
	}
	k.seen = now
	if !now.Before(k.bannedUntil) {
		k.bannedUntil = time.Time{}
	}
	k.minute.roll(now.Unix())
	k.day.roll(now.Unix())
	return now
}

func (k *apiKey) banned() bool { return !k.bannedUntil.IsZero() }

// ban bans the key until a whole second, so that the headers can say when it ends.
func (k *apiKey) ban(now time.Time, d time.Duration, reason string) {
	k.bannedUntil = time.Unix(ceilUnix(now.Add(d)), 0)
	k.banReason, k.streak = reason, 0
}

// quota returns the quota for the headers: the window with fewer requests left. A ban leaves none,
// and shows the end of the minute, since a ban usually ends after it.
func (k *apiKey) quota(sec int64) quota {
	minute := k.minute.quota(k.plan.PerMinute, sec)
	q := scarcer(minute, k.day.quota(k.plan.PerDay, sec))
	if !k.banned() {
		return q
	}
	q.remaining = 0
	switch k.srv.config.behavior.BanReset {
	case BanResetBan:
		q.reset = k.bannedUntil.Unix()
	case BanResetAbsent:
		q.reset = noReset
	default:
		q.reset = minute.reset
	}
	return q
}

// refusal returns when a key that is limited or banned may come back, as Unix time, and why not
// before.
func (k *apiKey) refusal(q quota, sec int64) (retryAt int64, reason string) {
	if k.banned() {
		return k.bannedUntil.Unix(), fmt.Sprintf("the API key is banned until %s, %s (section 8.3)",
			k.bannedUntil.UTC().Format(time.RFC3339), k.banReason)
	}
	span := "minute"
	if d := k.day.quota(k.plan.PerDay, sec); d.remaining == 0 && d.reset >= q.reset {
		span = "day"
	}
	return q.reset, fmt.Sprintf("plan %s allows %d requests per %s, the next one at %s (section 8.1)",
		k.plan, q.limit, span, time.Unix(q.reset, 0).UTC().Format(time.RFC3339))
}

// early returns how much of the wait that the last 429 asked for is still to come.
func (k *apiKey) early() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.settle() // which ends the wait if the clock went back
	return max(k.retryAt.Sub(now), 0)
}

// limited returns the 429 to a request over the limit or from a banned key (section 8.3).
func (b Behavior) limited(v verdict) response {
	a := refusal(http.StatusTooManyRequests, "%s", v.reason)
	a.quota = v.quota
	switch b.LimitBody {
	case BodyEmpty:
		a.body = nil
		a.header["Content-Type"] = nil
	case BodyHTML:
		a.body = []byte("<html><body><h1>429 Too Many Requests</h1></body></html>\n")
		a.header.Set("Content-Type", "text/html; charset=utf-8")
	}
	end := time.Unix(v.retryAt, 0)
	switch b.RetryAfter {
	case RetryAfterAbsent:
		return a
	case RetryAfterDate:
		a.header.Set("Retry-After", end.UTC().Format(http.TimeFormat))
	default:
		a.header.Set("Retry-After", fmt.Sprint(v.retryAt-v.now.Unix())) // rounded up: at least 1
	}
	a.until = end
	return a
}

package fake

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// backwards is how far the clock may go back before the windows begin anew.
const backwards = time.Second

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
	q, limited := x.key.take(x)
	if limited != nil {
		return *limited
	}
	a := x.route.serve(x)
	a.quota = q
	return a
}

// take admits a request and counts it, or returns the 429 that refuses it and counts that. A repeat
// by an operator leads to no ban; and if it is admitted, it does not end the series of 429s that
// leads the client to one.
func (k *apiKey) take(x *exchange) (q quota, limited *response) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.update()
	sec := now.Unix()
	if k.quota(sec).remaining > 0 { // a ban leaves none
		k.minute.add(sec)
		k.day.add(sec)
		if x.repeat == nil {
			k.streak, k.got429 = 0, false
		}
		return k.quota(sec), nil
	}
	provoked := false
	if !k.banned() && x.repeat == nil {
		k.streak++
		if after := k.srv.config.banAfter; after > 0 && k.streak > after {
			provoked = k.got429
			k.ban(now, k.srv.config.banFor, fmt.Sprintf("for %d requests after a 429", k.streak-1))
		}
	}
	k.limited++
	limited = k.refuse(now)
	if provoked {
		x.note(RuleBanProvoked, "8.3", "the request earned the key a ban: "+limited.hint)
	}
	return q, limited
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
	return k.quota(k.update().Unix())
}

// update brings the key to the present time, and returns that time. If the clock went back, as it
// does from one synctest bubble to the next, the windows begin anew and a ban keeps the time it had
// left. The clock is read here, under the lock: a goroutine that read it before and then had to
// wait would come with an older time, as if the clock had gone back.
func (k *apiKey) update() time.Time {
	now := k.srv.Now()
	back := now.Sub(k.lastNow)
	switch {
	case k.lastNow.IsZero() || back > 0:
	case back >= -backwards:
		now = k.lastNow
	default:
		k.minute, k.day = k.srv.keys.unused.minute, k.srv.keys.unused.day
		k.retryAt = time.Time{}
		if k.banned() {
			k.bannedUntil = k.bannedUntil.Add(back)
		}
	}
	k.lastNow = now
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

// quota returns the quota for the headers: that of the window with fewer requests left. During a
// ban, no request is left, and the reset is the end of the minute, since a ban usually lasts
// longer.
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

// refuse returns the 429 to a request over the limit or from a banned key (section 8.3).
func (k *apiKey) refuse(now time.Time) *response {
	q := k.quota(now.Unix())
	end, span := time.Unix(q.reset, 0).UTC(), "minute"
	if d := k.day.quota(k.plan.PerDay, now.Unix()); d.remaining == 0 && d.reset >= q.reset {
		span = "day"
	}
	reason := fmt.Sprintf("plan %s allows %d requests per %s, the next one at %s (section 8.1)",
		k.plan, q.limit, span, end.Format(time.RFC3339))
	if k.banned() {
		end = k.bannedUntil.UTC()
		reason = fmt.Sprintf("the API key is banned until %s, %s (section 8.3)",
			end.Format(time.RFC3339), k.banReason)
	}
	a := refusal(http.StatusTooManyRequests, "%s", reason)
	a.quota = q
	b := k.srv.config.behavior
	switch b.LimitBody {
	case BodyEmpty:
		a.body = nil
		a.header["Content-Type"] = nil
	case BodyHTML:
		a.body = []byte("<html><body><h1>429 Too Many Requests</h1></body></html>\n")
		a.header.Set("Content-Type", "text/html; charset=utf-8")
	}
	switch b.RetryAfter {
	case RetryAfterAbsent:
	case RetryAfterDate:
		a.header.Set("Retry-After", end.Format(http.TimeFormat))
	default: // rounded up: at least 1
		a.header.Set("Retry-After", fmt.Sprint(end.Unix()-now.Unix()))
	}
	return &a
}

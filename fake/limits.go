package fake

import (
	"fmt"
	"math"
	"net/http"
	"time"
)

// count counts the request, or returns a 429.
func (x *exchange) count() (limited *response) {
	k := x.key
	k.srv.mu.Lock()
	defer k.srv.mu.Unlock()
	k.syncClock()
	if k.quota().remaining > 0 {
		k.minute.add(1)
		k.day.add(1)
		k.streak, k.got429 = 0, false
		x.quota = k.quota()
		return nil
	}
	k.limited++
	if k.bannedUntil.IsZero() {
		k.streak++
	}
	after := k.srv.config.banAfter
	provoked := after > 0 && k.streak > after
	if provoked {
		k.ban(k.srv.config.banFor)
	}
	x.quota = k.quota()
	limited = k.tooManyRequests()
	if provoked && k.got429 && k.sentAfter429() {
		x.addViolation(RuleBanProvoked, "8.3", "the request led to a ban: "+limited.hint)
	}
	return limited
}

// uncountedQuota returns the quota for the headers of a request that was not counted: the current
// one or, without a valid key, that of an unused Free plan.
func (x *exchange) uncountedQuota() quota {
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	k := x.key
	if k == nil {
		k = x.srv.newKey("", 0, PlanFree)
	}
	k.syncClock()
	return k.quota()
}

// restart begins the windows anew, and ends bans and waits.
func (k *apiKey) restart() {
	kind := k.srv.config.behavior.Window
	k.minute = window{name: "minute", kind: kind, span: k.srv.config.minute}
	k.day = window{name: "day", kind: kind, span: day}
	k.bannedUntil, k.retryAt = time.Time{}, time.Time{}
}

// syncClock reads the clock, and updates the windows and the ban of the key. If the clock went
// back, as it does from one synctest bubble to the next, syncClock starts new windows. It reads the
// clock while the lock is held: a caller that read the clock first, and then waited for the lock,
// would have an older time, as if the clock had gone back.
func (k *apiKey) syncClock() {
	now := k.srv.Now()
	if now.Before(k.now) {
		k.restart()
	}
	k.now = now
	if !now.Before(k.bannedUntil) {
		k.bannedUntil = time.Time{}
	}
	k.minute.roll(now.Unix())
	k.day.roll(now.Unix())
}

// ban bans the key for d, rounded up to the next whole second. So a ban ends exactly at the time
// that Retry-After names, and a client may come back at that time.
func (k *apiKey) ban(d time.Duration) {
	k.bannedUntil = time.Unix(k.now.Add(d).Add(time.Second-1).Unix(), 0)
	k.streak = 0
}

// quota is the content of the three headers of a response (section 8.2).
type quota struct {
	window           string // the name of the window with this quota
	limit, remaining int
	reset            int64 // Unix time
}

// quota returns the quota for the headers. The window with fewer requests left counts. If both have
// the same number left, the window that resets later counts, because a client must wait for that
// reset. During a ban, no request is left, and the reset is that of the minute.
func (k *apiKey) quota() quota {
	minute, day := k.minute.quota(k.plan.PerMinute), k.day.quota(k.plan.PerDay)
	q := day
	if minute.remaining < day.remaining || minute.remaining == day.remaining && minute.reset > day.reset {
		q = minute
	}
	if !k.bannedUntil.IsZero() {
		q.remaining, q.reset = 0, minute.reset
	}
	return q
}

// tooManyRequests returns the 429 to a request over the limit or from a banned key (section 8.3).
func (k *apiKey) tooManyRequests() *response {
	q := k.quota()
	end := time.Unix(q.reset, 0).UTC()
	reason := fmt.Sprintf("plan %s allows %d requests per %s, the next one at %s (section 8.1)",
		k.plan, q.limit, q.window, end.Format(time.RFC3339))
	if !k.bannedUntil.IsZero() {
		end = k.bannedUntil.UTC()
		reason = fmt.Sprintf("the API key is banned until %s (section 8.3)", end.Format(time.RFC3339))
	}
	resp := refusal(http.StatusTooManyRequests, "%s", reason)
	b := k.srv.config.behavior
	switch b.LimitBody {
	case BodyEmpty:
		resp.body, resp.header = nil, http.Header{}
	case BodyHTML:
		resp.body = []byte("<html><body><h1>429 Too Many Requests</h1></body></html>\n")
		resp.header.Set("Content-Type", "text/html; charset=utf-8")
	}
	switch b.RetryAfter {
	case RetryAfterDate:
		resp.header.Set("Retry-After", end.Format(http.TimeFormat))
	case "": // rounded up: at least 1
		resp.header.Set("Retry-After", fmt.Sprint(end.Unix()-k.now.Unix()))
	}
	return &resp
}

const (
	minute    = 60 // seconds
	day       = 24 * 60 * 60
	unlimited = math.MaxInt32 // the number in the headers of a plan without a limit
)

// window counts requests over a minute or a day. No timer ends a window: before any other method,
// roll is called, and drops what no longer counts. All times are Unix seconds.
type window struct {
	name  string // minute or day
	kind  WindowKind
	span  int64
	now   int64
	used  int    // requests in the window
	ticks []tick // the requests in used, by their ends; only a sliding window has more than one tick
}

// tick is n requests that count until the second end.
type tick struct {
	end int64
	n   int
}

// roll sets the time, and drops the requests that no longer count.
func (w *window) roll(now int64) {
	w.now = now
	for len(w.ticks) > 0 && w.ticks[0].end <= now {
		w.used -= w.ticks[0].n
		w.ticks = w.ticks[1:]
	}
}

// add counts n requests that come now.
func (w *window) add(n int) {
	end, last := w.reset(), len(w.ticks)-1
	if w.kind == WindowSliding {
		end = w.now + w.span
	}
	w.used += n
	if last < 0 || w.ticks[last].end != end {
		w.ticks = append(w.ticks, tick{end, n})
		return
	}
	w.ticks[last].n += n
}

// set makes the window count n requests, as if all of them came now.
func (w *window) set(n int) {
	if w.kind == WindowSliding {
		w.used, w.ticks = 0, nil
	}
	w.add(n - w.used)
}

// reset returns when the oldest requests of the window drop out. An unused window ends a span after
// its beginning.
func (w *window) reset() int64 {
	switch {
	case len(w.ticks) > 0:
		return w.ticks[0].end
	case w.kind == WindowAligned:
		return w.now - w.now%w.span + w.span
	}
	return w.now + w.span
}

// quota returns the quota of the window, for a plan with this limit.
func (w *window) quota(limit int) quota {
	if limit == 0 {
		return quota{w.name, unlimited, unlimited, w.reset()}
	}
	return quota{w.name, limit, max(limit-w.used, 0), w.reset()}
}

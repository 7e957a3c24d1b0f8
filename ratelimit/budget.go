package ratelimit

import (
	"net/http"
	"slices"
	"sort"
	"time"
)

// budget decides when requests of one key may be sent. It is a state machine without a lock, a
// clock or a timer: admit admits a request or returns what the request has to wait for, and record
// takes the outcome of an admitted request. Outcomes come in any order. The zero budget knows
// nothing about the key. README.md has the rules, and why they keep the limit. window.go takes the
// window from responses, and others.go estimates what other processes send.
type budget struct {
	processes int       // number of processes that use the key, including this one; 0 if not set
	now       time.Time // the latest time that a caller passed

	// The window in the headers: the minute or the day, whichever has fewer requests left.
	windows int       // number of windows so far, including this one; 0 before a response shows one
	kind    Reason    // ReasonMinute or ReasonDay
	limit   int       // requests that the window allows
	reset   time.Time // the end of the window by the server's clock
	openAt  time.Time // a local time at which the window was open
	end     time.Time // the local time at which the window is certainly over
	slides  bool      // whether Reset moves, as it does if the server counts the last minute or day
	sent    int       // requests of this process that the window has counted, or may have counted

	// samples has each Remaining that may be the current one, in the order of arrival. A response
	// replaces the samples that came before its request was sent. If two requests were in flight
	// together, nobody knows which of them the server counted last: then the lower Remaining
	// counts. The lowest is samples[0].
	samples []sample
	// lost has a time for each lost request: until then, the request may still reach the server.
	lost []time.Time

	inFlight       []time.Time // when each request without an outcome was admitted, oldest first
	responses      int         // outcomes so far, without those of unsent requests
	lastResponse   time.Time   // when the last response came
	lastForeground time.Time   // when a foreground request last asked
	probes         int         // probes in flight; all other requests wait for them (rule 4)
	lastProbe      time.Time   // when the last probe was admitted

	// The lockout after a 429 (rule 5).
	closedUntil time.Time // nothing is sent before this time
	closedBy    Reason    // the limit that seems to have caused the lockout
	streak      int       // lockouts since the last success
	lockouts    int       // lockouts so far

	// Other processes (rules 6 and 10); their requests are called foreign.
	//
	// trust is how sure this process is that it is alone. From 0 to surelyAlone, it counts the
	// responses in a row without a foreign request. After a foreign request it is negative.
	trust          int
	othersInFlight int     // estimated foreign requests in flight
	foreign        int     // foreign requests that the window has counted
	foreignRate    float64 // foreign requests a second, on average over the last ten seconds or so
}

// sample is the Remaining of a response, and the number of responses when this response had come. A
// request that was admitted at this number or a higher one was sent after the response came.
type sample struct{ responses, remaining int }

// snapshot is the state of the budget when it admitted a request. record compares it with the state
// at the outcome, to learn what has changed while the request was in flight.
type snapshot struct {
	windows, responses, lockouts, left, sent, foreign int

	admitted, lastResponse time.Time
	probe                  bool
}

// obstacle is what a request has to wait for. The zero obstacle means that it need not wait.
type obstacle struct {
	reason Reason    // a limit, or ReasonResponse
	askAt  time.Time // the end of the limit or, if no response comes, when to ask again
}

const (
	// slowAfter is the time after which a request without a response is slow: other requests no
	// longer wait for it, and another probe may follow. It is also how long a request may take to
	// reach the server after its caller gave up. It is five times 200 ms, the longest usual
	// latency. After a 429, slowAfter429 is the time after which another probe may follow. It is
	// longer, because another 429 may cause a ban.
	slowAfter    = time.Second
	slowAfter429 = 10 * time.Second

	slidingLockout = 90 * time.Second // the shortest lockout in a sliding window that others use
)

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// admit reserves room for one request, or returns what the request has to wait for.
func (b *budget) admit(now time.Time, background bool) (snapshot, obstacle) {
	b.now = later(b.now, now)
	if !background {
		b.lastForeground = b.now
	}
	reserve := b.reserve(background)
	probe := b.needsProbe(b.now, reserve)
	var why obstacle
	switch {
	case b.closedUntil.After(b.now):
		why = obstacle{b.closedBy, b.closedUntil}
	case probe:
		why = b.probeObstacle()
	default:
		why = b.requestObstacle(reserve)
	}
	if why.reason != "" {
		return snapshot{}, why
	}
	b.inFlight = append(b.inFlight, b.now)
	if probe {
		b.probes++
		b.lastProbe = b.now
	}
	return snapshot{
		windows: b.windows, responses: b.responses, lockouts: b.lockouts, left: b.left(), sent: b.sent,
		foreign: b.foreign, admitted: b.now, lastResponse: b.lastResponse, probe: probe,
	}, obstacle{}
}

// left returns how many requests the window has left if the server counts all lost requests.
// Requests in flight are not subtracted: free does that.
func (b *budget) left() int {
	if len(b.samples) == 0 {
		return 0
	}
	return max(0, b.samples[0].remaining-len(b.lost))
}

// free returns how many more requests the window certainly allows, if others send nothing. It
// subtracts all requests in flight: the last Remaining may be from before the server counted them.
func (b *budget) free() int { return b.left() - len(b.inFlight) }

// possiblyFree returns how many more requests the window allows at best. free may be lower: if the
// server has counted a request in flight already, free subtracts this request twice. possiblyFree
// starts from the limit, and subtracts each request once: the requests of this process with an
// outcome, its requests in flight, and the foreign requests. For example, the limit is 60, this
// process has got 10 responses and has 40 requests in flight, and Remaining is 30. So the server
// has counted 20 of the 40 requests in flight. free is 30-40 = -10, but possiblyFree is 60-10-40 =
// 10.
//
// possiblyFree is 0 if no response will come soon. It is also 0 if others use the key, because the
// 20 requests may then be foreign.
func (b *budget) possiblyFree() int {
	if b.processes > 1 || b.trust < 0 || len(b.awaited()) == 0 {
		return 0
	}
	return min(b.left(), b.limit-b.sent-len(b.inFlight)-b.foreign)
}

// awaited returns when the requests in flight were admitted, without the slow ones (rule 7): other
// requests do not wait for the response to a slow request.
func (b *budget) awaited() []time.Time {
	i := sort.Search(len(b.inFlight), func(i int) bool { return b.inFlight[i].Add(slowAfter).After(b.now) })
	return b.inFlight[i:]
}

// needsProbe reports whether a request must be a probe if it is sent at the time `at`, because too
// little will be known then (rules 3 and 4). `at` is now or later. Requests that are free at the
// end of a window may be sent in the next window without a probe. But others may have used up to
// `reserve` of them in the old window. So a probe is needed unless more than `reserve` are free.
func (b *budget) needsProbe(at time.Time, reserve int) bool {
	switch {
	case b.streak > 0:
		return true
	case b.windows == 0:
		return b.lastResponse.IsZero() // after a response without headers, a probe would show nothing either
	}
	return !at.Before(b.end) && b.free() <= reserve
}

// probeObstacle returns what a probe has to wait for: the response to another probe (rule 4).
func (b *budget) probeObstacle() obstacle {
	again := b.lastProbe.Add(slowAfter)
	if b.streak > 0 {
		again = b.lastProbe.Add(slowAfter429)
	}
	if b.probes == 0 || !again.After(b.now) {
		return obstacle{}
	}
	return obstacle{ReasonResponse, again}
}

// requestObstacle returns what a request that is no probe has to wait for. The request need not
// wait if enough of the window is free (rule 1), and few requests are in flight (rules 6 to 8).
func (b *budget) requestObstacle(reserve int) obstacle {
	awaited := b.awaited()
	usedUp := b.windows > 0 && b.free() <= reserve
	switch {
	case usedUp && b.possiblyFree() <= reserve:
		return obstacle{b.kind, b.end}
	case !usedUp && len(awaited) < b.mostInFlight():
		return obstacle{}
	}
	// awaited is not empty here: if it were, possiblyFree would be 0, and len(awaited) would be
	// less than mostInFlight, which is at least 1. So one of the two cases would apply.
	return obstacle{ReasonResponse, awaited[0].Add(slowAfter)}
}

// earliest returns the earliest time at which known limits may allow a request, and the limit that
// is the reason. If no known limit holds the request back, it returns now and no reason. `before`
// is the number of requests ahead in the queue.
//
// The time is the end of the lockout. If the window has too little room for the requests ahead, the
// time is at least the end of the window, plus a minute for each further window that they fill.
func (b *budget) earliest(now time.Time, before int, background bool) (at time.Time, reason Reason) {
	at = now
	if b.closedUntil.After(now) {
		at, reason = b.closedUntil, b.closedBy
	}
	if b.windows == 0 {
		return at, reason
	}
	reserve := b.reserve(background)
	opens, filled := at, 0
	free := max(b.free(), b.possiblyFree()) - reserve
	if b.needsProbe(at, reserve) {
		// The window that the probe shows may end at once, so one window less is counted.
		filled = max(0, before/b.limit-1)
	} else if before >= free {
		opens, filled = b.end, (before-max(0, free))/b.limit
	}
	opens = opens.Add(time.Duration(filled) * windowLength)
	if opens.After(at) && reason == "" {
		reason = b.kind
	}
	return later(at, opens), reason
}

// record takes the outcome of a request that admit has admitted with the snapshot s. The request is
// no longer in flight. If it was sent, its response may change the window and what is known about
// others (rules 1 to 3, 6 and 10). It may also begin a lockout or, as a success, end the lockouts
// in a row (rule 5).
func (b *budget) record(s *snapshot, o *Outcome, now time.Time) {
	b.now = later(b.now, now)
	if i, ok := slices.BinarySearchFunc(b.inFlight, s.admitted, time.Time.Compare); ok {
		b.inFlight = slices.Delete(b.inFlight, i, i+1)
	}
	if s.probe {
		b.probes--
	}
	if o.Sent.IsZero() {
		return
	}
	b.responses++
	b.lastResponse = later(b.lastResponse, o.Received)
	if o.StatusCode == http.StatusUnauthorized {
		return // the headers of a 401 say nothing about the limit of the key
	}
	b.updateWindow(s, o)
	if o.StatusCode == http.StatusTooManyRequests {
		b.startLockout(s, o)
	} else if !o.Received.IsZero() && s.lockouts == b.lockouts {
		b.streak = 0
	}
}

// startLockout begins a lockout after a 429, or makes it longer (rule 5). Several 429s to requests
// that were in flight together make one lockout.
func (b *budget) startLockout(s *snapshot, o *Outcome) {
	if s.lockouts == b.lockouts { // no lockout has begun since the request was sent
		b.lockouts++
		b.streak++
	}
	usedUp := o.Window.Limit > 0 && o.Window.Remaining == 0
	if usedUp && b.streak <= 1 && !s.probe && o.RetryAfter <= windowLength {
		b.trust = othersSeen // another process used up the window
	}
	until, limit := o.LockoutEnd(b.streak)
	if b.slides && b.trust < 0 { // an earlier request would find no room: others take it
		until = later(until, o.Received.Add(slidingLockout))
	}
	if until.After(b.closedUntil) {
		b.closedUntil, b.closedBy = until, limit
	}
}

// reopen allows one probe if the key is closed or its window is used up. Else it does nothing.
func (b *budget) reopen(now time.Time) {
	b.now = later(b.now, now)
	usedUp := b.streak == 0 && b.end.After(b.now) && b.left() <= b.reserve(false)
	if b.closedUntil.After(b.now) || usedUp {
		b.closedUntil, b.streak = time.Time{}, max(1, b.streak)
	}
}

func (b *budget) known() Window {
	return Window{Limit: b.limit, Remaining: b.left(), Reset: b.reset}
}

// ends returns when both the window and the lockout are over, as far as known. After that, the
// state of the budget hardly matters.
func (b *budget) ends() time.Time { return later(b.closedUntil, b.end) }

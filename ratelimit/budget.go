package ratelimit

import (
	"net/http"
	"slices"
	"sort"
	"time"
)

// budget decides when requests of one key may be sent. It is a state machine without a lock, a
// clock or a timer: admit admits a request or returns what it has to wait for, and record takes its
// outcome. Outcomes come in any order. The zero budget knows nothing about the key. README.md has
// the rules, and why they keep the limit. window.go learns the window from responses, others.go the
// number of foreign requests.
type budget struct {
	processes int       // how many use the key, including this one; 0 if not set
	now       time.Time // the latest time that a caller passed

	// The window in the headers: the minute or the day, whichever has fewer requests left.
	windows int       // number so far, including this one; 0 before a response shows one
	kind    Reason    // ReasonMinute or ReasonDay
	limit   int       // requests that the window allows
	reset   time.Time // the end of the window by the server's clock
	openAt  time.Time // a local time at which the window was open
	end     time.Time // the local time at which the window is certainly over
	slides  bool      // Reset moves: it is when the oldest counted request leaves the window
	sent    int       // requests of this process that the window has counted, or may have

	// samples are the responses whose Remaining may be the current one, in the order of arrival. A
	// response replaces the samples that came before its request was sent. If requests were in
	// flight together, nobody knows which the server counted last: the lowest Remaining counts,
	// samples[0].
	samples []sample
	// lost has a time for each request that the server may or may not have counted: until that
	// time, the request may still reach the server.
	lost []time.Time

	inFlight       []time.Time // when each request without an outcome was admitted, oldest first
	responses      int         // outcomes so far, without those of unsent requests
	lastResponse   time.Time   // when the last response came
	lastForeground time.Time   // when a request outside the background last asked
	probes         int         // number in flight; all other requests wait for them (rule 4)
	lastProbe      time.Time   // when the last probe was admitted

	// The lockout after a 429 (rule 5).
	closedUntil time.Time // nothing is sent before this time
	closedBy    Reason    // the limit that seems to be the reason
	streak      int       // lockouts since the last success
	lockouts    int       // lockouts so far

	// Other processes (rules 6 and 10); their requests are called foreign.
	//
	// trust is how sure this process is that it is alone. From 0 to surelyAlone, it is the number
	// of responses in a row without a foreign request. It is negative after a foreign request:
	// others use the key.
	trust          int
	othersInFlight int            // estimated foreign requests in flight
	history        []foreignCount // foreign requests that the window had counted, over time
}

// sample is the Remaining of a response, and the number of responses up to and including it. A
// request that was admitted at this number or a higher one was sent after the response had come.
type sample struct{ responses, remaining int }

// snapshot is the state of the budget when it admitted a request. record compares it with the state
// at the outcome, to learn what has changed while the request was in flight.
type snapshot struct {
	windows, responses, lockouts, left, sent int

	admitted, lastResponse time.Time
	probe                  bool
}

// obstacle is what a request has to wait for. The zero obstacle means that it need not wait.
type obstacle struct {
	reason Reason    // a limit, or ReasonResponse
	askAt  time.Time // the end of the limit, or when to ask again if no response came
}

const (
	// slowAfter is the time after which a request without a response is slow: others no longer wait
	// for it, and a new probe may follow. A request that was given up may still reach the server
	// for as long. 200 ms is assumed as the longest usual latency; this is five times that. After a
	// 429, a probe has more time: another 429 may cause a ban.
	slowAfter    = time.Second
	slowAfter429 = 10 * time.Second

	slidingLockout = 90 * time.Second // the shortest lockout in a sliding window that others use
)

// later returns the later of two times.
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
		admitted: b.now, lastResponse: b.lastResponse, probe: probe,
	}, obstacle{}
}

// left returns how many requests the window has left if it has counted all lost requests. Requests
// in flight are not subtracted: free does that.
func (b *budget) left() int {
	if len(b.samples) == 0 {
		return 0
	}
	return max(0, b.samples[0].remaining-len(b.lost))
}

// free returns how many more requests the window certainly allows, if others send nothing. That is
// what is left, minus the requests in flight: perhaps the server had not counted them yet.
func (b *budget) free() int { return b.left() - len(b.inFlight) }

// possiblyFree returns how many more requests the window may turn out to allow when those in flight
// have their responses. If the server has counted these already, free subtracts them twice.
// possiblyFree subtracts each request once, from the limit: ours with a response, ours in flight,
// and the foreign ones. For example, the limit is 60, we have 10 responses and 40 requests in
// flight, and Remaining is 30. Then possiblyFree is 60-10-40 = 10, while free is 30-40 = -10.
//
// It is 0 if no response will come soon. It is also 0 if others use the key: the 10 may be theirs.
func (b *budget) possiblyFree() int {
	if b.processes > 1 || b.trust < 0 || len(b.awaited()) == 0 {
		return 0
	}
	most := b.limit - b.sent - len(b.inFlight)
	if n := len(b.history); n > 0 {
		most -= b.history[n-1].requests // also those that this process sent before a restart
	}
	return min(b.left(), most)
}

// awaited returns the requests in flight whose responses others wait for: those that are not slow
// (rule 7).
func (b *budget) awaited() []time.Time {
	i := sort.Search(len(b.inFlight), func(i int) bool { return b.inFlight[i].Add(slowAfter).After(b.now) })
	return b.inFlight[i:]
}

// needsProbe reports whether so little is known that a request has to be a probe if it is sent at
// the time `at`, which is now or later (rules 3 and 4). What was free at the end of a window may be
// sent in the next window without a probe, except the reserve: others may have used that much of
// the old window.
func (b *budget) needsProbe(at time.Time, reserve int) bool {
	switch {
	case b.streak > 0:
		return true
	case b.windows == 0:
		return b.lastResponse.IsZero() // if a response had no headers, a probe would show nothing either
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

// requestObstacle returns what a request has to wait for if it is no probe. It need not wait if
// enough of the window is free (rule 1), and few enough requests are in flight (rules 6 and 8).
func (b *budget) requestObstacle(reserve int) obstacle {
	awaited := b.awaited()
	usedUp := b.windows > 0 && b.free() <= reserve
	switch {
	case usedUp && b.possiblyFree() <= reserve:
		return obstacle{b.kind, b.end}
	case !usedUp && len(awaited) < b.mostInFlight():
		return obstacle{}
	}
	// awaited is not empty here. Without an awaited request, one of the two cases applies: if
	// usedUp, the first, since possiblyFree is 0; otherwise the second, since mostInFlight is at
	// least 1.
	return obstacle{ReasonResponse, awaited[0].Add(slowAfter)}
}

// earliest returns a time before which a request certainly cannot be admitted, and the limit that
// is the reason; now and none if no known limit holds it. `before` requests are ahead of it in the
// queue.
//
// The time is the end of the lockout. If the window has too little room for the requests ahead, it
// is at least the end of the window, plus a minute for each further window that they fill.
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
		// The probe may show a window that is about to end, so one window is not counted.
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

// record takes the outcome of an admitted request.
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
	if b.streak <= 1 && !s.probe && o.Window.Remaining == 0 && o.RetryAfter <= windowLength {
		b.trust = othersSeen // another process used up the window
	}
	until, limit := o.LockoutEnd(b.streak)
	if b.slides && b.trust < 0 { // until then, others take the room that becomes free
		until = later(until, o.Received.Add(slidingLockout))
	}
	if until.After(b.closedUntil) {
		b.closedUntil, b.closedBy = until, limit
	}
}

// reopen allows one probe if the key is closed or used up (rule 9). If not, it has no effect.
func (b *budget) reopen(now time.Time) {
	b.now = later(b.now, now)
	usedUp := b.streak == 0 && b.end.After(b.now) && b.left() <= b.reserve(false)
	if b.closedUntil.After(b.now) || usedUp {
		b.closedUntil, b.streak = time.Time{}, max(1, b.streak)
	}
}

// known returns what is known about the window; zero if nothing is.
func (b *budget) known() Window {
	return Window{Limit: b.limit, Remaining: b.left(), Reset: b.reset}
}

// ends returns when both the window and the lockout are over, as far as known. After that, the
// state of the budget is of little use.
func (b *budget) ends() time.Time { return later(b.closedUntil, b.end) }

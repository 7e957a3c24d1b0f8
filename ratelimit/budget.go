package ratelimit

import (
	"net/http"
	"slices"
	"sort"
	"time"
)

// budget decides when requests of one key may be sent. It is a state machine without a lock, a
// clock or a timer: admit admits a request or returns what the request has to wait for, and settle
// takes the outcome of an admitted request. Outcomes come in any order. The zero budget knows
// nothing about the key. README.md has the rules, and why they keep the limit. window.go takes the
// window from responses, and others.go estimates what other processes send.
//
// These numbers of requests lead from responses to the next request:
//
//   - Remaining: what the window had left when the server sent one response
//   - left: the lowest Remaining that is still valid, without the lost requests
//   - surelyFree: left, without the requests in flight
//   - possiblyFree: what may be free, since left may already exclude some of those in flight
//   - keptBack: how many must stay free for others; a request is admitted if more are surelyFree
//   - mostInFlight: how many requests of this process may be in flight
//   - foreign: how many requests of other processes the window has counted
//
// A request is admitted if surelyFree > keptBack, and fewer than mostInFlight are awaited.
type budget struct {
	processes int       // number of processes that use the key, including this one; 0 if not set
	now       time.Time // the latest time that a caller passed

	// The window in the headers: the minute or the day, whichever has fewer requests left.
	kind          Reason    // ReasonMinute or ReasonDay
	limit         int       // requests that the window allows; 0 before a response shows a window
	reset         time.Time // the end of the window by the server's clock
	openAt        time.Time // a local time at which the window was open
	end           time.Time // the local time at which the window is certainly over
	slides        bool      // whether Reset moves, as it does if the server counts the last minute or day
	sent          int       // requests of this process that the window has counted, or may have counted
	windowOutcome int       // the outcome that showed this window first, by its number

	// samples has each Remaining that may be the current one, in the order of arrival. A response
	// replaces the samples that came before its request was sent. If two requests were in flight
	// together, nobody knows which of them the server counted last: then the lower Remaining
	// counts. The lowest is samples[0].
	samples []sample
	// lost has a time for each lost request: until then, the request may still reach the server. It
	// is subtracted until a request that was sent after this time has a response.
	lost []time.Time

	inFlight       []time.Time // when each request without an outcome was admitted, oldest first
	outcomes       int         // outcomes so far, without those of unsent requests; their numbers begin at 1
	lastResponse   time.Time   // when the last response came
	lastForeground time.Time   // when a foreground request last asked
	probes         int         // probes in flight; all other requests wait for them (rule 4)
	lastProbe      time.Time   // when the last probe was admitted

	// The lockout after a 429 (rule 5).
	closedUntil    time.Time // nothing is sent before this time
	closedBy       Reason    // the limit that seems to have caused the lockout
	streak         int       // lockouts since the last response other than a 401 or 429
	lockoutOutcome int       // the outcome that began the last lockout, by its number; 0 before the first

	// Other processes (rules 6 and 10); their requests are called foreign.
	//
	// trust is how sure this process is that it is alone. From 0 to surelyAlone, it counts the
	// responses in a row without a foreign request. After a foreign request it is negative.
	trust           int
	foreign         int     // foreign requests that the window has counted
	foreignInFlight int     // foreign requests in flight, estimated
	foreignRate     float64 // foreign requests a second, on average over the last ten seconds or so
}

// sample is the Remaining of the response with this number.
type sample struct{ outcome, remaining int }

// snapshot is the state of the budget when it admitted a request. settle compares it with the state
// at the outcome, to learn what has changed while the request was in flight.
type snapshot struct {
	admitted     time.Time
	outcomes     int // outcomes that had come
	leftAndSent  int // left + sent: our own requests that the window counts do not change it
	lastResponse time.Time
	probe        bool
}

// precedes reports whether the request was admitted before the outcome with this number came.
func (s *snapshot) precedes(outcome int) bool { return s.outcomes < outcome }

// obstacle is what a request has to wait for. The zero obstacle means that it need not wait.
type obstacle struct {
	reason Reason    // a limit, or ReasonResponse
	askAt  time.Time // the end of the limit or, if no response comes, when to ask again
}

const (
	// slowAfter is the time after which a request without a response is slow: other requests no
	// longer wait for it, and another probe may follow. It is five times 200 ms, the longest usual
	// latency. After a 429, slowAfter429 is the time after which another probe may follow. It is
	// longer, because another 429 may cause a ban.
	slowAfter    = time.Second
	slowAfter429 = 10 * time.Second

	// mayArrive is how long a request may still take to reach the server after its caller gave up.
	mayArrive = slowAfter

	// slidingLockout is the shortest lockout in a sliding window that others use. With a minute,
	// TestGrowth has a fourth more 429s on 60 a minute.
	slidingLockout = 90 * time.Second
)

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// admit admits one request, or returns what the request has to wait for.
func (b *budget) admit(now time.Time, background bool) (snapshot, obstacle) {
	b.now = later(b.now, now)
	if !background {
		b.lastForeground = b.now
	}
	kept := b.keptBack(background)
	probe := b.needsProbe(b.now, kept)
	var why obstacle
	switch {
	case b.closedUntil.After(b.now):
		why = obstacle{b.closedBy, b.closedUntil}
	case probe:
		why = b.probeObstacle()
	default:
		why = b.requestObstacle(kept)
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
		admitted: b.now, outcomes: b.outcomes, leftAndSent: b.left() + b.sent,
		lastResponse: b.lastResponse, probe: probe,
	}, obstacle{}
}

// left returns how many requests the window has left if the server counts all lost requests.
func (b *budget) left() int {
	if len(b.samples) == 0 {
		return 0
	}
	return max(0, b.samples[0].remaining-len(b.lost))
}

// surelyFree returns how many more requests the window allows, if others send nothing. It subtracts
// all requests in flight: the server may have sent the last Remaining before it counted them.
func (b *budget) surelyFree() int { return b.left() - len(b.inFlight) }

// possiblyFree returns how many more requests the window allows at best. surelyFree may be lower:
// if the server has counted a request in flight already, surelyFree subtracts this request twice.
// possiblyFree subtracts each request from the limit once. For example, the limit is 60, this
// process has got 10 responses and has 40 requests in flight, and Remaining is 30. So the server
// has counted 20 of the 40. surelyFree is 30-40 = -10, but possiblyFree is 60-10-40 = 10.
//
// It is no more than surelyFree if no response will come soon, or if others use the key, because
// the 20 requests may then be foreign.
func (b *budget) possiblyFree() int {
	if b.isShared() || len(b.awaited()) == 0 {
		return b.surelyFree()
	}
	return max(b.surelyFree(), b.limit-b.sent-len(b.inFlight)-b.foreign)
}

// awaited returns when the requests in flight were admitted, without the slow ones (rule 7): other
// requests do not wait for the response to a slow request.
func (b *budget) awaited() []time.Time {
	i := sort.Search(len(b.inFlight), func(i int) bool { return b.inFlight[i].Add(slowAfter).After(b.now) })
	return b.inFlight[i:]
}

// needsProbe reports whether a request must be a probe if it is sent at the time `at`, which is now
// or later, because too little will be known then (rules 3 and 4). What is free at the end of a
// window may be sent in the next window, except what is kept back for others.
func (b *budget) needsProbe(at time.Time, kept int) bool {
	switch {
	case b.streak > 0:
		return true
	case b.limit == 0:
		return b.lastResponse.IsZero() // after a response without headers, a probe would show nothing either
	}
	return !at.Before(b.end) && b.surelyFree() <= kept
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
func (b *budget) requestObstacle(kept int) obstacle {
	awaited := b.awaited()
	enough := b.limit == 0 || b.surelyFree() > kept
	switch {
	case enough && len(awaited) < b.mostInFlight():
		return obstacle{}
	case !enough && b.possiblyFree() <= kept: // the window is used up
		return obstacle{b.kind, b.end}
	}
	// The next response may show more. A request is awaited: without one, possiblyFree is
	// surelyFree, and mostInFlight is positive.
	return obstacle{ReasonResponse, awaited[0].Add(slowAfter)}
}

// earliest returns the earliest time at which known limits may allow a request, and the limit that
// is the reason. If no known limit holds the request back, it returns now and no reason. `ahead` is
// the number of requests ahead in the queue.
//
// The time is the end of the lockout. If the window has too little room for the requests ahead, the
// time is at least the end of the window, plus a minute for each further window that they fill.
func (b *budget) earliest(now time.Time, ahead int, background bool) (at time.Time, reason Reason) {
	at = now
	if b.closedUntil.After(now) {
		at, reason = b.closedUntil, b.closedBy
	}
	if b.limit == 0 {
		return at, reason
	}
	kept := b.keptBack(background)
	opens, filled := at, 0
	if free := b.possiblyFree() - kept; b.needsProbe(at, kept) {
		// The window that the probe shows may end at once, so one window less is counted.
		filled = max(0, ahead/b.limit-1)
	} else if ahead >= free {
		opens, filled = b.end, (ahead-max(0, free))/b.limit
	}
	opens = opens.Add(time.Duration(filled) * time.Minute)
	if opens.After(at) && reason == "" {
		reason = b.kind
	}
	return later(at, opens), reason
}

// settle takes the outcome of a request that admit has admitted with the snapshot s. The request is
// no longer in flight. If it was sent, its response may change the window and what is known about
// others (rules 1 to 3, 6 and 10). It may also begin a lockout or, as a success, end the lockouts
// in a row (rule 5).
func (b *budget) settle(s *snapshot, o *Outcome, now time.Time) {
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
	b.outcomes++
	b.lastResponse = later(b.lastResponse, o.Received)
	if o.StatusCode == http.StatusUnauthorized {
		return // the headers of a 401 say nothing about the limit of the key (rule 8)
	}
	b.updateWindow(s, o)
	if o.StatusCode == http.StatusTooManyRequests {
		b.startLockout(s, o)
	} else if !o.Received.IsZero() && !s.precedes(b.lockoutOutcome) {
		b.streak = 0
	}
}

// startLockout begins a lockout after a 429, or makes it longer (rule 5). Several 429s to requests
// that were in flight together make one lockout.
func (b *budget) startLockout(s *snapshot, o *Outcome) {
	if !s.precedes(b.lockoutOutcome) {
		b.lockoutOutcome = b.outcomes
		b.streak++
	}
	if o.Window.Limit > 0 && o.Window.Remaining == 0 && !s.probe && o.RetryAfter <= time.Minute {
		b.trust = othersSeen // another process used up the window
	}
	until, reason := o.LockoutEnd(b.streak)
	if b.slides && b.trust < 0 { // an earlier request would find no room: others take it
		until = later(until, o.Received.Add(slidingLockout))
	}
	if until.After(b.closedUntil) {
		b.closedUntil, b.closedBy = until, reason
	}
}

// reopen allows one probe if the key is closed or its window is used up. Else it does nothing.
func (b *budget) reopen(now time.Time) {
	b.now = later(b.now, now)
	usedUp := b.end.After(b.now) && b.left() <= b.keptBack(false)
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

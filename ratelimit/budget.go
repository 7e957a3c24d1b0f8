package ratelimit

import (
	"net/http"
	"slices"
	"sort"
	"time"
)

// budget decides what one key may send. It is a state machine without a lock, a clock or a timer:
// admit asks for one request, and record takes the outcome of one; outcomes come in any order. The
// zero budget knows nothing about the key. README.md has its rules, and says why the key stays
// within its limit. window.go has what a response shows of the window, others.go what it shows of
// other processes.
type budget struct {
	processes int       // that use the key, including this one; 0 if not told
	now       time.Time // the latest time of a call

	// The window: that of the minute or the day, whichever has fewer requests left.
	windows int       // how many there were, including this one; 0 before the first
	kind    Reason    // ReasonMinute or ReasonDay
	limit   int       // requests that it allows
	reset   time.Time // its end by the server's clock
	wasOpen time.Time // a local time at which it was open
	end     time.Time // the local time at which it is certainly over
	slides  bool      // its Reset moves: it is the time at which its oldest request leaves the window
	sent    int       // requests of this process that it has counted

	// samples are the responses whose Remaining counts, in the order in which they came. The response
	// to a request replaces those from before it was sent. Of requests in flight together, nobody
	// knows which one the server counted last, so the lowest Remaining counts: that of the first.
	samples []sample
	// lost are the requests that Remaining may include or not: the times until which they may still
	// reach the server.
	lost []time.Time

	inFlight       []time.Time // when the requests without an outcome were admitted, the oldest first
	responses      int         // outcomes so far of requests that were sent
	lastResponse   time.Time   // when the last response came
	lastForeground time.Time   // when a request that is not in the background last asked
	probes         int         // probes in flight; all other requests wait for their responses (rule 4)
	lastProbe      time.Time   // when the last one was admitted

	// The lockout after a 429 (rule 5).
	closedUntil time.Time // nothing is sent before
	closedBy    Reason    // the limit that the 429 seems to be for
	streak      int       // lockouts since the last success
	lockouts    int       // lockouts so far

	// Other processes (rules 6 and 10); their requests are called foreign.
	//
	// trust is how far the process may believe that it is alone: from 0 to 8, the number of responses
	// in a row without a foreign request. A foreign request makes it negative, which means that
	// others use the key.
	trust          int
	othersInFlight int            // estimated foreign requests in flight
	history        []foreignCount // shows how often others send
}

// sample is the Remaining of a response, and the number of responses up to and including this one:
// a request that was admitted after as many responses was sent after this one had come.
type sample struct{ responses, remaining int }

// snapshot is the state of the budget when it admitted a request. record compares it with the state
// when the outcome comes: a change between the two may or may not include this request.
type snapshot struct {
	windows, responses, lockouts, left, sent int

	admitted, lastResponse time.Time
	probe                  bool
}

// hold is what a request has to wait for. The zero hold is nothing.
type hold struct {
	reason Reason    // a limit, or ReasonResponse
	askAt  time.Time // the end of the limit; or when to ask again without a response, zero for never
}

const (
	// A request without a response is slow after slowAfter, five times the longest usual latency: then
	// it no longer holds up others, and another probe may follow. A request that was given up may
	// reach the server for as long. After a 429, a probe has more time: the next one may cause a ban.
	slowAfter    = time.Second
	slowAfter429 = 10 * time.Second

	slidingLockout = 90 * time.Second // the least after a 429 in a sliding window that others use
)

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// admit reserves one request, unless it has to wait.
func (b *budget) admit(now time.Time, background bool) (snapshot, hold) {
	b.now = later(b.now, now)
	if !background {
		b.lastForeground = b.now
	}
	reserve := b.reserve(background)
	probe := b.needsProbe(b.now, reserve)
	var why hold
	switch {
	case b.closedUntil.After(b.now):
		why = hold{b.closedBy, b.closedUntil}
	case probe:
		why = b.holdProbe()
	default:
		why = b.holdRequest(reserve)
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
	}, hold{}
}

// left returns how many requests the window has left according to the responses. Requests in flight
// are not subtracted: see free.
func (b *budget) left() int {
	if len(b.samples) == 0 {
		return 0
	}
	return max(0, b.samples[0].remaining-len(b.lost))
}

// free returns how many more requests the window certainly allows, if others send nothing: what is
// left, minus the requests in flight, because Remaining may not include them yet.
func (b *budget) free() int { return b.left() - len(b.inFlight) }

// possiblyFree returns how many more requests the window may turn out to allow once those in flight
// have their responses: if Remaining includes some of them already, free subtracts these twice. So
// possiblyFree subtracts each request once: it is the limit, minus the requests of this process,
// those in flight too, and the foreign ones. For example, with a limit of 60, 10 requests with a
// response, 40 in flight, and a Remaining of 30, it is 60-10-40 = 10, while free is 30-40 = -10.
//
// It is 0 if no response will come soon, and if others use the key: they may have sent these 10.
func (b *budget) possiblyFree() int {
	if b.processes > 1 || b.trust < 0 || len(b.notSlow()) == 0 {
		return 0
	}
	most := b.limit - b.sent - len(b.inFlight)
	if n := len(b.history); n > 0 {
		most -= b.history[n-1].requests // such as those of this process before its restart
	}
	return min(b.left(), most)
}

// notSlow returns the requests in flight that are not slow (rule 7).
func (b *budget) notSlow() []time.Time {
	i := sort.Search(len(b.inFlight), func(i int) bool { return b.inFlight[i].Add(slowAfter).After(b.now) })
	return b.inFlight[i:]
}

// needsProbe reports whether too little is known to admit requests at now, so that one has to be
// a probe (rules 3 and 4). What was free at the end of a window may be sent in the next one without
// a probe, except the reserve, which others may have used of that one.
func (b *budget) needsProbe(now time.Time, reserve int) bool {
	switch {
	case b.streak > 0:
		return true
	case b.windows == 0:
		return b.lastResponse.IsZero() // a server without the headers would show nothing to a probe either
	}
	return !now.Before(b.end) && b.free() <= reserve
}

// holdProbe returns what a probe has to wait for: the response to another probe (rule 4).
func (b *budget) holdProbe() hold {
	again := b.lastProbe.Add(slowAfter)
	if b.streak > 0 {
		again = b.lastProbe.Add(slowAfter429)
	}
	if b.probes == 0 || !again.After(b.now) {
		return hold{}
	}
	return hold{ReasonResponse, again}
}

// holdRequest returns what a request that is no probe has to wait for. It need not wait if enough
// of the window is free (rule 1), and few enough requests are in flight (rules 6 and 8).
func (b *budget) holdRequest(reserve int) hold {
	notSlow := b.notSlow()
	usedUp := b.windows > 0 && b.free() <= reserve
	switch {
	case usedUp && b.possiblyFree() <= reserve:
		return hold{b.kind, b.end}
	case !usedUp && len(notSlow) < b.mostInFlight():
		return hold{}
	case len(notSlow) > 0:
		return hold{ReasonResponse, notSlow[0].Add(slowAfter)}
	}
	return hold{reason: ReasonResponse}
}

// earliest returns a time before which a request certainly cannot be admitted, with that many
// others before it, and the limit that is the reason; now and none if no known limit holds it.
//
// It is the end of the lockout. If the window has too little for the requests before this one, it
// is the end of the window, and a minute later for each further window that they fill.
func (b *budget) earliest(now time.Time, before int, background bool) (at time.Time, reason Reason) {
	at = now
	if b.closedUntil.After(now) {
		at, reason = b.closedUntil, b.closedBy
	}
	if b.windows == 0 {
		return at, reason
	}
	opens, filled, reserve := at, 0, b.reserve(background)
	free := max(b.free(), b.possiblyFree()) - reserve
	if b.needsProbe(at, reserve) {
		// The response may show a window that is about to end, so one window is not counted.
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
		return // its headers say nothing about the limit of the key
	}
	b.updateWindow(s, o)
	if o.StatusCode == http.StatusTooManyRequests {
		b.startLockout(s, o)
	} else if !o.Received.IsZero() && s.lockouts == b.lockouts {
		b.streak = 0
	}
}

// startLockout begins a lockout after a 429, or makes it longer (rule 5). Several 429s to requests
// that were in flight together make one lockout. If a 429 does not say how long, the first lockout
// in a row takes a window, and each further one twice as long, up to 16 windows.
func (b *budget) startLockout(s *snapshot, o *Outcome) {
	if s.lockouts == b.lockouts { // else the request was sent before the lockout
		b.lockouts++
		b.streak++
	}
	if b.streak <= 1 && !s.probe && o.Window.Remaining == 0 && o.RetryAfter <= windowLength {
		b.trust = othersSeen // another process used up the window
	}
	opens, reason := after429(o)
	least := time.Duration(0)
	switch {
	case opens.IsZero():
		least = windowLength << min(max(0, b.streak-1), 4)
	case b.slides && b.trust < 0:
		least = slidingLockout // the others get the room that becomes free
	case b.streak > 1:
		least = min(time.Second<<min(b.streak-2, 6), windowLength)
	}
	if until := later(opens, o.Received.Add(least)); until.After(b.closedUntil) {
		b.closedUntil, b.closedBy = until, reason
	}
}

// reopen allows one probe although the key is closed (rule 9). It has no effect on an open key.
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

// ends returns when both the window and the lockout are over, as far as known. After that, what the
// budget knows is of little use.
func (b *budget) ends() time.Time { return later(b.closedUntil, b.end) }

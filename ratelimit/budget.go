package ratelimit

import (
	"sort"
	"time"
)

// budget decides what one key may send. It is a state machine without a lock, a clock or a timer:
// admit asks for one request, and settle reports its outcome, in any order. The zero budget knows
// nothing about the key. README.md has its rules, and says why the key stays within its limit;
// learn.go has what a response shows.
type budget struct {
	processes int       // that use the key, including this one; 0 if not told
	now       time.Time // the latest time of a call

	// The window that the last responses described: of the minute or the day, whichever has fewer
	// requests left.
	epoch  int       // windows seen so far; 0 before the first
	kind   Reason    // ReasonMinute or ReasonDay
	limit  int       // requests that it allows
	reset  time.Time // its end by the server's clock
	start  time.Time // a local time at which it was open
	end    time.Time // the local time at which it is certainly over
	slides bool      // its Reset moves, since it is the time at which its oldest request leaves it
	sent   int       // requests of this process that it has counted

	// samples are the valid ones, increasing in both fields. A sample stays valid until the response
	// to a request comes that was sent after it: in which order the server counted others is not
	// known.
	samples []sample
	// lost has an entry for each request whose effect on Remaining is not known: the time until
	// which it may reach the server.
	lost []time.Time

	inFlight     []time.Time // when the requests without an outcome were admitted, the oldest first
	responses    int         // outcomes so far of requests that were sent
	lastResponse time.Time   // when it came
	foreground   time.Time   // when a request that is not in the background last asked
	probes       int         // requests in flight for whose responses all others wait (rule 4)
	probed       time.Time   // when the last one was admitted

	// The lockout after a 429 (rule 5).
	until    time.Time // nothing is sent before
	reason   Reason    // the limit that the 429 seems to be for
	streak   int       // lockouts since the last success
	lockouts int       // lockouts so far

	// Other processes (rules 6 and 10). trust is how many responses in a row came without a foreign
	// request, 8 at most. It is -4 after a foreign request, and negative while others use the key.
	trust          int
	othersInFlight int     // foreign requests in flight, estimated
	past           []point // how often others send
}

// sample is what one response said: its Remaining, and the number of responses up to and including
// this one. A request that was admitted after at least as many responses was sent after this one.
type sample struct{ responses, remaining int }

// point is how many foreign requests a window had counted at a time.
type point struct {
	at      time.Time
	foreign int
}

// slot is the state of the budget when it admitted a request. settle compares it with the state
// when the outcome comes: a change between the two may or may not include this request.
type slot struct {
	epoch, responses, lockouts int
	admitted, lastResponse     time.Time
	leftAndSent                int // what was left, plus the requests of this process until then
	probe                      bool
}

// hold is what a request has to wait for. The zero hold is nothing.
type hold struct {
	reason Reason
	until  time.Time // zero if it depends on a response
	askAt  time.Time // when to ask again if no response comes earlier; zero for never
}

const (
	windowLength = time.Minute // except for the window of the day
	dayLength    = 24 * time.Hour
	sameWindow   = 30 * time.Second // two Resets of one window differ by less
	grain        = time.Second      // Reset and Date are whole seconds
	slack        = 10 * time.Second // a window that seems to be longer by up to this is not

	// patience is five times the longest usual latency. A request in flight for longer no longer
	// holds up others, one without a response may arrive for that long, and another probe follows
	// after it. After a 429 that is rejectedPatience: the next request may be the one for a ban.
	patience         = time.Second
	rejectedPatience = 10 * time.Second

	slidingLockout = 90 * time.Second // the least after a 429 in a sliding window that others use

	blindInFlight  = 2  // requests in flight while no response has shown a limit; 1 after a 429
	backgroundPart = 10 // background requests leave 1/10 of each window to the others

	// While nothing is known about others, 1/16 of what is left may be in flight (rule 6). After a
	// foreign request, trust is -4, and each new window halves it: 0 in the third.
	unknownPart, fullTrust, lowTrust = 16, 8, -4
	// fewAtOnce requests may be in flight on small plans, for a web page that makes six calls. But
	// they are at most 1/fewPart of this: what is left, minus rushPart times the foreign requests in
	// flight.
	fewAtOnce, fewPart, rushPart = 6, 4, 8

	newcomers   = 8  // requests left to processes that start, whose first request nothing holds back
	strangePart = 4  // see learnFirst
	mostPoints  = 32 // of the past: beyond it, the second oldest is dropped
)

// passed reports whether t is zero or has passed.
func passed(now, t time.Time) bool { return !now.Before(t) }

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// admit reserves one request, unless it has to wait.
func (b *budget) admit(now time.Time, background bool) (slot, hold) {
	b.now = later(b.now, now)
	if !background {
		b.foreground = b.now
	}
	reserve := b.reserve(background)
	probe := b.needsProbe(b.now, reserve)
	var why hold
	switch {
	case !passed(b.now, b.until):
		why = hold{b.reason, b.until, b.until}
	case probe:
		why = b.holdProbe()
	default:
		why = b.holdRequest(reserve)
	}
	if why.reason != "" {
		return slot{}, why
	}
	b.inFlight = append(b.inFlight, b.now)
	if probe {
		b.probes, b.probed = b.probes+1, b.now
	}
	return slot{b.epoch, b.responses, b.lockouts, b.now, b.lastResponse, b.left() + b.sent, probe}, hold{}
}

// left returns how many requests the window has left according to the responses. Requests in flight
// are not subtracted.
func (b *budget) left() int {
	if len(b.samples) == 0 {
		return 0
	}
	return max(0, b.samples[0].remaining-len(b.lost))
}

// prompt returns the requests in flight that are not late (rule 7).
func (b *budget) prompt() []time.Time {
	late := b.now.Add(-patience)
	return b.inFlight[sort.Search(len(b.inFlight), func(i int) bool { return b.inFlight[i].After(late) }):]
}

// needsProbe reports whether too little is known to admit requests at now, so that one has to be
// a probe (rules 3 and 4). What others may have used of a new window is in the reserve.
func (b *budget) needsProbe(now time.Time, reserve int) bool {
	switch {
	case b.streak > 0:
		return true
	case b.epoch == 0:
		return b.lastResponse.IsZero() // a server without the headers would show nothing to a probe either
	}
	return passed(now, b.end) && b.left()-len(b.inFlight) <= reserve
}

// holdProbe returns what a probe has to wait for (rule 4).
func (b *budget) holdProbe() hold {
	again := b.probed.Add(patience)
	if b.streak > 0 {
		again = b.probed.Add(rejectedPatience)
	}
	if b.probes == 0 || passed(b.now, again) {
		return hold{}
	}
	return hold{reason: ReasonResponse, askAt: again}
}

// holdRequest returns what a request that is no probe has to wait for. It need not wait if enough
// of the window is left (rule 1), and few enough requests are in flight (rules 6 and 8).
func (b *budget) holdRequest(reserve int) hold {
	prompt := b.prompt()
	usedUp := b.epoch > 0 && b.left()-len(b.inFlight) <= reserve
	switch {
	case usedUp && b.mayShow() <= reserve:
		return hold{b.kind, b.end, b.end}
	case !usedUp && len(prompt) < b.share():
		return hold{}
	case len(prompt) > 0:
		return hold{reason: ReasonResponse, askAt: prompt[0].Add(patience)}
	}
	return hold{reason: ReasonResponse}
}

// mayShow returns how many more requests the window may turn out to allow once those in flight have
// their responses: the lowest Remaining may include some of these, which are then subtracted twice.
// It returns 0 if no response will show that soon. Let the limit be 60, 10 requests have a
// response, the lowest Remaining be 30, and 40 requests be in flight: it is 60-10-40 = 10 at a
// trust of 0 to 8, and 0 at -4 to -1, as others may have used these 10.
func (b *budget) mayShow() int {
	if b.processes > 1 || b.trust < 0 || len(b.prompt()) == 0 {
		return 0
	}
	most := b.limit - b.sent - len(b.inFlight)
	if n := len(b.past); n > 0 {
		most -= b.past[n-1].foreign // such as requests of this process before its restart
	}
	return min(b.left(), most)
}

// share returns how many requests that are not late may be in flight here (rules 6 and 8). It is at
// least 1: without a request in flight, nothing would be learned. If 320 are left, and no foreign
// request is in flight, it is 20 at a trust of -4 to 1, then 40 at 2, 80 at 4, 160 at 6, 320 at 8.
// With 10 foreign requests in flight it is (320-2*10)/16 = 18 at -4.
func (b *budget) share() int {
	left := b.left()
	switch {
	case b.epoch == 0:
		return blindInFlight - min(1, b.lockouts)
	case b.processes == 1:
		return left
	case b.processes > 1:
		return max(1, left/(2*b.processes))
	}
	part := max(1, unknownPart>>(max(0, b.trust)/2))
	// The foreign requests in flight may double while ours is in flight.
	return max(1, (left-2*b.othersInFlight)/part, min(fewAtOnce, (left-rushPart*b.othersInFlight)/fewPart))
}

// reserve returns how many requests of the window must be left after this one. If others use the
// key, these are the requests that they have in flight or, if these are more, those that they have
// probably sent since the last response, and some for processes that start (rule 10). A background
// request leaves more (rule 11). Let the limit be 320, and 10 foreign requests have come in the
// second before the last response, which came a second ago: it is 0 at a trust of 0 to 8, and
// 1+8+15 = 24 at -4 to -1.
func (b *budget) reserve(background bool) (n int) {
	if background && b.now.Sub(b.foreground) < 2*windowLength {
		n = b.limit / backgroundPart
	}
	if b.processes <= 1 && b.trust >= 0 {
		return n
	}
	others := 1 + min(b.limit/unknownPart, newcomers)
	if !b.slides {
		others += b.sentByOthers()
	}
	// Each of the other processes may have one request in flight.
	return n + max(others, b.othersInFlight, b.processes-1)
}

// sentByOthers returns how many requests others have probably sent since the last response: as many
// as in the same time before it, and half as many more, because processes that start send more.
func (b *budget) sentByOthers() int {
	i := len(b.past) - 1
	if i < 0 {
		return 0
	}
	last := b.past[i]
	since := last.at.Add(last.at.Sub(b.now))
	for i > 0 && b.past[i].at.After(since) {
		i--
	}
	p, came := b.past[i], float64(last.foreign-b.past[i].foreign)
	if i+1 < len(b.past) && since.After(p.at) { // they came evenly between two responses
		next := b.past[i+1]
		came -= float64(next.foreign-p.foreign) * since.Sub(p.at).Seconds() / next.at.Sub(p.at).Seconds()
	}
	return int(1.5 * came)
}

// reopen allows one probe although the key is closed (rule 9). It has no effect on an open key.
func (b *budget) reopen(now time.Time) {
	b.now = later(b.now, now)
	usedUp := b.streak == 0 && !passed(b.now, b.end) && b.left() <= b.reserve(false)
	if !passed(b.now, b.until) || usedUp {
		b.until, b.streak = time.Time{}, max(1, b.streak)
	}
}

// earliest returns a time before which a request certainly cannot be admitted, with that many
// others before it, and the limit that is the reason; now and none if no known limit holds it.
func (b *budget) earliest(now time.Time, before int, background bool) (at time.Time, reason Reason) {
	at = now
	if !passed(now, b.until) {
		at, reason = b.until, b.reason
	}
	if b.epoch == 0 {
		return at, reason
	}
	opens, windows, reserve := at, 0, b.reserve(background)
	free := max(b.left()-len(b.inFlight), b.mayShow()) - reserve
	if b.needsProbe(at, reserve) {
		// The response may show a window that is about to end, so one window is not counted.
		windows = max(0, before/b.limit-1)
	} else if before >= free {
		opens, windows = b.end, (before-max(0, free))/b.limit
	}
	opens = opens.Add(time.Duration(windows) * windowLength)
	if opens.After(at) && reason == "" {
		reason = b.kind
	}
	return later(at, opens), reason
}

// known returns what is known about the window; zero if nothing is.
func (b *budget) known() Window {
	return Window{Limit: b.limit, Remaining: b.left(), Reset: b.reset}
}

// ends returns when both the window and the lockout are over, as far as known. After that, what the
// budget knows is of little use.
func (b *budget) ends() time.Time { return later(b.until, b.end) }

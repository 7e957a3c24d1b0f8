package ratelimit

import (
	"slices"
	"time"
)

const (
	// patience is how long a probe may be without a response before another one follows. One second
	// is five times the longest usual latency of 200 ms, so that callers hardly ever notice one
	// slow response.
	patience = time.Second
	// rejectedPatience is the same after a 429. It is longer, because another request may be the
	// one for which the server bans the key.
	rejectedPatience = 10 * time.Second
)

// probes counts the requests for whose responses all others wait (rule 4).
type probes struct {
	inFlight int
	at       time.Time // when the last one was admitted
	from     time.Time // earliest time of the next one
	silent   int       // requests in a row without a response
}

// settle records the outcome of a probe. Without a response, the next one has to wait, since the
// server is in trouble. If the caller gave up, the outcome does not show the state of the server.
func (a *probes) settle(o *Outcome, now time.Time) {
	a.inFlight--
	switch {
	case o.Sent.IsZero():
		a.at = time.Time{} // the next one need not wait for a response to this one
	case o.Abandoned:
	case o.Received.IsZero():
		// 100 ms is a usual latency. The wait doubles until it is as long as patience.
		a.from = now.Add(min(100*time.Millisecond<<min(a.silent, 4), patience))
		a.silent++
	default:
		*a = probes{inFlight: a.inFlight, at: a.at}
	}
}

// needsProbe reports whether too little is known to admit requests at now, so that one has to be a
// probe. What is left of a window that is over may still be used, since the next window has at least
// as much room. But if others use the key, they may have used up the next window already: then at
// least a quarter of the limit must be left.
func (b *budget) needsProbe(now time.Time, reserve int) bool {
	switch {
	case b.lockout.untested:
		return true
	case b.epoch == 0:
		return b.heard.IsZero()
	case !passed(now, b.end):
		return false
	}
	left := b.left()
	return left-b.inFlight <= reserve || b.isShared() && left < b.limit/4
}

// mayProbe reports whether a probe may be sent now, and if not, when to ask again. If there is
// certainly room, another probe follows for each second without a response; otherwise only one,
// after rejectedPatience.
func (b *budget) mayProbe(now time.Time) (time.Time, bool) {
	a := &b.probes
	most, again := b.limit, a.at.Add(patience)
	if b.lockout.untested || b.epoch == 1 || b.slides {
		most, again = min(2, b.limit), a.at.Add(rejectedPatience)
	}
	switch {
	case !passed(now, a.from):
		return a.from, false
	case a.inFlight == 0:
		return time.Time{}, true
	case b.epoch > 0 && a.inFlight >= most:
		return time.Time{}, false
	}
	return again, passed(now, again)
}

// late is the time after which a request in flight is late: five times the longest usual latency.
const late = time.Second

// recent counts the requests in flight that are not late, by the time at which they were admitted
// (rule 7). A queue is admitted at one time: then no request moves the others.
type recent struct {
	count  int
	groups []group // in their order; only the first one cannot be empty
}

// group is the requests that were admitted at one time.
type group struct {
	admitted time.Time
	count    int
}

// add adds a request that is admitted now.
func (r *recent) add(now time.Time) {
	r.count++
	if last := len(r.groups) - 1; last >= 0 && r.groups[last].admitted.Equal(now) {
		r.groups[last].count++
		return
	}
	r.groups = append(r.groups, group{now, 1})
}

// remove removes a request that was admitted at that time, if it is not late.
func (r *recent) remove(admitted time.Time) {
	at, found := slices.BinarySearchFunc(r.groups, admitted, func(g group, t time.Time) int { return g.admitted.Compare(t) })
	if found {
		r.groups[at].count--
		r.count--
	}
	r.advance(time.Time{})
}

// advance removes the requests that are late at now, and the empty groups before the first other.
func (r *recent) advance(now time.Time) {
	n := 0
	for n < len(r.groups) && (r.groups[n].count == 0 || now.Sub(r.groups[n].admitted) >= late) {
		r.count -= r.groups[n].count
		n++
	}
	if n > 0 {
		r.groups = slices.Delete(r.groups, 0, n)
	}
}

// wake returns when the oldest request becomes late; zero if there is none.
func (r *recent) wake() time.Time {
	if r.count == 0 {
		return time.Time{}
	}
	return r.groups[0].admitted.Add(late)
}

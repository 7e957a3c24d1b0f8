package ratelimit

import "time"

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

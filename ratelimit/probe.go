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

// probes counts the requests for whose responses all others wait (rule 4). Such a request is a
// probe: its response shows what the others need to know.
type probes struct {
	inFlight int
	at       time.Time // when the last one was admitted
}

// needsProbe reports whether too little is known to admit requests at now, so that one has to be
// a probe. What is left of a window that is over may still be used, since the next window has at
// least as much room. But if others use the key, they may have used up the next window already:
// then at least a quarter of the limit must be left.
func (b *budget) needsProbe(now time.Time, reserve int) bool {
	switch {
	case b.lockout.streak > 0:
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
	most, again := b.limit, b.probes.at.Add(patience)
	if b.lockout.streak > 0 || b.epoch == 1 || b.slides {
		most, again = min(2, b.limit), b.probes.at.Add(rejectedPatience)
	}
	switch {
	case b.probes.inFlight == 0:
		return time.Time{}, true
	case b.epoch > 0 && b.probes.inFlight >= most:
		return time.Time{}, false
	}
	return again, passed(now, again)
}

package quota

import "time"

const (
	// patience is how long a request that went ahead may be silent before one more follows: five times
	// the longest latency that is usual, so that callers hardly ever notice one slow response.
	patience = time.Second
	// rejectedPatience is the same after a 429, as one more may be the one that bans the key.
	rejectedPatience = 10 * time.Second
	// unsentAhead is how many may go ahead together when the service cannot be reached: a few connections
	// refused cost nothing, and everybody finds out soon.
	unsentAhead = 4
)

// ahead is the requests that go ahead of the others (rule 4).
type ahead struct {
	inFlight int
	at       time.Time // when the last one was admitted
	from     time.Time // the earliest time of the next
	unsent   int       // in a row that never left
	silent   int       // in a row that got no response
}

// settle ends one. One that got no response is not repeated at once, as the service is in trouble; one that
// its caller gave up says nothing about the service.
func (a *ahead) settle(o *Observation, now time.Time) {
	switch {
	case o.Sent.IsZero():
		a.unsent++
	case o.Abandoned:
	case o.Received.IsZero():
		// Doubled until it is as long as the silence for which one more goes ahead.
		a.from = now.Add(min(100*time.Millisecond<<min(a.silent, 4), patience))
		a.silent++
	default:
		*a = ahead{inFlight: a.inFlight, at: a.at}
	}
}

// needsFirst reports whether nothing known covers a request at now, so that one has to go ahead of the
// others. What is left of a window that is over covers one as well, as the next window has at least as much
// room; but if others use the key, only as long as it is a lot: they may have used the next one already.
func (b *Budget) needsFirst(now time.Time, reserve int) bool {
	switch {
	case b.gate.rejected:
		return true
	case b.epoch == 0:
		return !b.blind
	case !over(now, b.end):
		return false
	}
	left := b.left()
	return left-b.inFlight <= reserve || b.crowded() && left < b.limit/4
}

// mayGoAhead reports whether a request may go ahead of the others now, and if not, when to ask again. One more
// goes for each second of silence where there is room for it without doubt, and otherwise a single one, late.
func (b *Budget) mayGoAhead(now time.Time) (time.Time, bool) {
	a := &b.ahead
	roomy := !b.gate.rejected && (b.epoch == 0 || b.rolls())
	most, again := 2, a.at.Add(rejectedPatience)
	if roomy {
		most, again = max(b.limit, 1+unsentAhead), a.at.Add(patience)
	}
	if b.epoch > 0 {
		most = min(most, b.limit)
	}
	switch {
	case !over(now, a.from):
		return a.from, false
	case a.inFlight == 0, roomy && a.inFlight < min(1+a.unsent, unsentAhead, most):
		return time.Time{}, true
	case b.epoch > 0 && a.inFlight >= most:
		return time.Time{}, false
	}
	return again, over(now, again)
}

package quota

import "time"

// Offset is the range in which the service's clock is ahead of the local clock. The zero Offset
// knows nothing.
type Offset struct {
	// Known reports whether a response had a Date.
	Known bool
	// Lo and Hi are the least and the most by which the service's clock is ahead.
	Lo, Hi time.Duration

	at time.Time // when the range was right
}

// Narrow narrows the range by the Date of a response: the service's clock in whole seconds at some
// time between Sent and Received. Clocks drift and can be set: if the new range contradicts the old
// one, it replaces it. 100 µs per second is a common limit for the drift of a clock.
func (f *Offset) Narrow(o *Observation) {
	if o.Date.IsZero() {
		return
	}
	const driftPerSecond = 100 * time.Microsecond
	lo, hi := o.Date.Sub(o.Received), o.Date.Add(time.Second).Sub(o.Sent)
	if drift := time.Duration(max(0, o.Received.Sub(f.at).Seconds()) * float64(driftPerSecond)); f.Known &&
		f.Lo-drift <= hi && lo <= f.Hi+drift {
		lo, hi = max(lo, f.Lo-drift), min(hi, f.Hi+drift)
	}
	*f = Offset{true, lo, hi, o.Received}
}

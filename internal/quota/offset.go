package quota

import "time"

// offset is the range of how far the service's clock may be ahead of the local clock. The zero
// offset means that nothing is known.
type offset struct {
	known  bool          // a response had a Date
	lo, hi time.Duration // the least and the most by which the service's clock is ahead
	at     time.Time     // when the range was right
}

// narrow narrows the range by the Date of a response: the service's clock in whole seconds at some
// time between Sent and Received. Clocks drift and can be set: if the new range contradicts the old
// one, it replaces it. 100 µs per second is a common limit for the drift of a clock.
func (f *offset) narrow(o *Observation) {
	if o.Date.IsZero() {
		return
	}
	const driftPerSecond = 100 * time.Microsecond
	lo, hi := o.Date.Sub(o.Received), o.Date.Add(time.Second).Sub(o.Sent)
	if drift := time.Duration(max(0, o.Received.Sub(f.at).Seconds()) * float64(driftPerSecond)); f.known &&
		f.lo-drift <= hi && lo <= f.hi+drift {
		lo, hi = max(lo, f.lo-drift), min(hi, f.hi+drift)
	}
	*f = offset{true, lo, hi, o.Received}
}

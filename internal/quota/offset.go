package quota

import "time"

// offset is the least by which the service's clock may be ahead of the local clock. The zero offset
// means that nothing is known.
type offset struct {
	known bool          // a response had a Date
	lo    time.Duration // the least by which the service's clock is ahead
	at    time.Time     // when lo was right
}

// narrow raises lo by the Date of a response: the service's clock in whole seconds at some time
// between Sent and Received. Clocks drift and can be set: if the response contradicts the old lo, its
// own replaces it. 100 µs per second is a common limit for the drift of a clock.
func (f *offset) narrow(o *Observation) {
	if o.Date.IsZero() {
		return
	}
	const driftPerSecond = 100 * time.Microsecond
	lo, most := o.Date.Sub(o.Received), o.Date.Add(time.Second).Sub(o.Sent)
	drift := time.Duration(max(0, o.Received.Sub(f.at).Seconds()) * float64(driftPerSecond))
	if known := f.lo - drift; f.known && known <= most {
		lo = max(lo, known)
	}
	*f = offset{true, lo, o.Received}
}

package quota

import "time"

// offset bounds how far the service's clock is ahead of the local one.
type offset struct {
	known  bool
	lo, hi time.Duration
	at     time.Time
}

// narrow takes in the Date of a response, which was now, to the second, somewhere between Sent and
// Received. Clocks drift, and are set: what contradicts is forgotten.
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

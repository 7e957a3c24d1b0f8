package ratelimit

import "time"

// offset is by how much the server's clock may be ahead of the local clock, at least and at most.
// The zero offset means that nothing is known.
type offset struct {
	// known reports whether any response had a Date.
	known bool
	// lo and hi are the least and the greatest possible offset, at the time at.
	lo, hi time.Duration
	at     time.Time
	// doubted reports whether the last Date contradicted lo and hi.
	doubted bool
}

// narrow narrows the offset by the Date of a response: the server's clock in whole seconds at some
// time between Sent and Received. Clocks drift, by 100 µs per second as a rule, so that the offset
// becomes wider with time. Clocks can also be set: therefore the second Date in a row that
// contradicts the earlier ones replaces what they showed. A single one may come from a cache.
func (f *offset) narrow(o *Outcome) {
	if o.Date.IsZero() {
		return
	}
	lo, hi := o.Date.Sub(o.Received), o.Date.Add(time.Second).Sub(o.Sent)
	drift := max(0, o.Received.Sub(f.at)) / 10_000
	switch {
	case !f.known:
	case lo <= f.hi+drift && hi >= f.lo-drift:
		lo, hi = max(lo, f.lo-drift), min(hi, f.hi+drift)
	case !f.doubted:
		f.doubted = true
		return
	}
	*f = offset{true, lo, hi, o.Received, false}
}

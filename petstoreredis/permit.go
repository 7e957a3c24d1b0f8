package petstoreredis

import (
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/quota"
)

// permit allows one request to be sent.
type permit struct {
	limiter  *Limiter
	slot     slot
	over     bool       // the window was over when a call got the permit
	share    *share     // nil if Redis granted it
	own      quota.Slot // of share.budget
	released bool
}

// take returns an unused permit or, during a fallback, one of this process's share, and reports
// whether there is one.
func (l *Limiter) take(now time.Time) (*permit, bool) {
	if s := l.fallback.share; s != nil {
		slot, ok := s.admit(now)
		if !ok {
			return nil, false
		}
		l.inFlight++
		return &permit{limiter: l, share: s, own: slot}, true
	}
	if len(l.unused) == 0 {
		return nil, false
	}
	s := l.unused[0]
	l.unused = l.unused[1:]
	l.usedAt = now
	l.inFlight++
	if s.Probe {
		l.probes++
	}
	return &permit{limiter: l, slot: s, over: s.Probe || s.Epoch > 0 && !now.Before(l.known.ends)}, true
}

// Release implements [petstore.Permit].
func (p *permit) Release(o petstore.Observation) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.released {
		return
	}
	now, seen := time.Now(), observation(o)
	l.lastResponse = now
	if seen.Sent.IsZero() && !p.slot.Probe {
		l.giveBack(p, &seen, now)
	} else {
		l.end(p)
		l.settle(p, &seen, now)
	}
	l.dispatch(now)
}

// end marks a permit as released.
func (l *Limiter) end(p *permit) {
	p.released = true
	l.inFlight--
	if p.slot.Probe {
		l.probes--
	}
}

// giveBack makes a permit that was not used available to the next call.
func (l *Limiter) giveBack(p *permit, o *quota.Observation, now time.Time) {
	l.end(p)
	switch {
	case p.share != nil:
		p.share.record(p, o, now)
	case l.fallback.share == nil:
		l.unused = append(l.unused, p.slot)
	}
}

// settle records the outcome of a request, for the next command and for the share.
func (l *Limiter) settle(p *permit, o *quota.Observation, now time.Time) {
	if o.RateLimit.Limit > 0 {
		l.offset.Narrow(o)
	}
	r := newReport(p.slot, p.over, o, l.offset)
	if r.Rejected {
		l.unused = nil // the 429 has closed the key
		l.rejected, l.rejectedAt = *o, l.seq
	}
	if l.othersWait(r, o) {
		l.urgent = true
	}
	if r.Limit > 0 {
		l.known.observe(o.RateLimit)
		if !o.RateLimit.Reset.Before(l.last.RateLimit.Reset) {
			l.last = *o
		}
	}
	l.report(r)
	if s := l.fallback.share; s != nil {
		s.record(p, o, now)
		l.calls.RefuseLate(now)
	}
}

// othersWait reports whether other processes wait for the outcome r of o, so that it is sent at
// once.
func (l *Limiter) othersWait(r report, o *quota.Observation) bool {
	shown := l.known.rateLimit
	news := r.Limit > 0 && (r.Limit != shown.Limit || o.RateLimit.Reset.Sub(shown.Reset) > sameWindow)
	return news || r.Urgent || r.Probe && r.Unsent || r.Rejected ||
		l.known.Reason == "response" && l.calls.Len() > 0 // any response to the fleet may admit a waiter
}

// observation returns o as the type of package quota.
func observation(o petstore.Observation) quota.Observation {
	switch o.Delivery {
	case petstore.DeliveryNotTried:
		return quota.Observation{}
	case petstore.DeliveryNotSent:
		return quota.Observation{Received: o.Received}
	case petstore.DeliveryNoResponse:
		return quota.Observation{Sent: o.Sent, Abandoned: o.Abandoned}
	}
	return quota.Observation{
		Sent: o.Sent, Received: o.Received, StatusCode: o.StatusCode, RateLimit: quota.RateLimit(o.RateLimit),
		RetryAfter: o.RetryAfter, Date: o.Date, Abandoned: o.Abandoned,
	}
}

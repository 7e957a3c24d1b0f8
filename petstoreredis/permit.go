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
	over     bool       // the window had ended when a call got the permit
	share    *share     // nil if Redis granted it
	own      quota.Slot // of the budget of share
	released bool
}

// take returns a permit for a call: one that no call has asked for yet or, while Redis is away, one
// of this process's share. It returns nil if there is none.
func (l *Limiter) take(now time.Time) *permit {
	if s := l.fallback.share; s != nil {
		slot, ok := s.admit(now)
		if !ok {
			return nil
		}
		l.inFlight++
		return &permit{limiter: l, share: s, own: slot}
	}
	if len(l.unused) == 0 {
		return nil
	}
	s := l.unused[0]
	l.unused = l.unused[1:]
	l.usedAt = now
	l.inFlight++
	if s.First {
		l.first++
	}
	return &permit{limiter: l, slot: s, over: s.First || s.Epoch > 0 && !now.Before(l.known.ends)}
}

// Release implements [petstore.Permit].
func (p *permit) Release(o petstore.Observation) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.released {
		return
	}
	now := time.Now()
	l.lastResponse = now
	if o.Sent.IsZero() && !p.slot.First {
		l.giveBack(p, o, now)
	} else {
		l.end(p)
		l.settle(p, o, now)
	}
	l.dispatch(now)
}

// end marks a permit as released.
func (l *Limiter) end(p *permit) {
	p.released = true
	l.inFlight--
	if p.slot.First {
		l.first--
	}
}

// giveBack makes a permit that was not used available to the next call.
func (l *Limiter) giveBack(p *permit, o petstore.Observation, now time.Time) {
	l.end(p)
	switch {
	case p.share != nil:
		p.share.settle(p.own, o, now)
	case l.fallback.share == nil:
		l.unused = append(l.unused, p.slot)
	}
}

// settle takes over the outcome of a request, for the next command and for the share.
func (l *Limiter) settle(p *permit, o petstore.Observation, now time.Time) {
	seen := observation(o)
	if seen.RateLimit.Limit > 0 {
		l.offset.Narrow(&seen)
	}
	r := newReport(p.slot, p.over, o, l.offset)
	if r.Rejected {
		l.unused = nil // the gate is closed: these must not be used
	}
	if l.othersWait(r, o) {
		l.urgent = true
	}
	if r.Limit > 0 {
		l.known.observe(o.RateLimit)
		if !o.RateLimit.Reset.Before(l.last.RateLimit.Reset) {
			l.last = o
		}
	}
	l.report(r)
	if s := l.fallback.share; s != nil {
		if p.share == s {
			s.settle(p.own, o, now)
		} else {
			s.learn(o, now)
		}
		l.refuse(now, l.seq, false)
	}
}

// othersWait reports whether other processes wait for what r says, so that it is sent at once.
func (l *Limiter) othersWait(r report, o petstore.Observation) bool {
	shown := l.known.rateLimit
	news := r.Limit > 0 && (r.Limit != shown.Limit || o.RateLimit.Reset.Sub(shown.Reset) > sameWindow)
	return news || r.Urgent || r.First && r.Unsent || r.Rejected || l.anyResponse && l.queue.len() > 0
}

// observation is o as package quota has it.
func observation(o petstore.Observation) quota.Observation {
	return quota.Observation{
		Sent: o.Sent, Received: o.Received, StatusCode: o.StatusCode, RateLimit: quota.RateLimit(o.RateLimit),
		RetryAfter: o.RetryAfter, Date: o.Date, Abandoned: o.Abandoned,
	}
}

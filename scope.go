package petstore

import (
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

// LimitScope says which limit refused a request, or would have: the minute's, the day's or a ban
// (section 8). It is inferred, since the service does not report it.
//
// An exhausted window that was more than a minute from its Reset when it was first seen is the
// day's, any other the minute's. After a 429 whose Retry-After reaches beyond the Reset of the same
// response, or beyond a minute if that had none, it is a ban; a ban that ends before the window
// cannot be told from it. The zero LimitScope means that it is not known.
type LimitScope string

// The limits of section 8.
const (
	ScopeMinute LimitScope = "minute"
	ScopeDay    LimitScope = "day"
	ScopeBan    LimitScope = "ban"
)

// quota is the observation as the rules of the limiter read it.
func (o *Observation) quota() quota.Observation {
	return quota.Observation{
		Sent: o.Sent, Received: o.Received, StatusCode: o.StatusCode,
		RateLimit: quota.RateLimit(o.RateLimit), RetryAfter: o.RetryAfter, Date: o.Date, Abandoned: o.Abandoned,
	}
}

// opensAt is when a 429 whose window ends at end allows the next request, zero if it does not say.
func opensAt(o Observation, end time.Time) time.Time {
	q := o.quota()
	return quota.OpensAt(&q, end)
}

// scopeOf returns the scope of a 429 whose window ends at end, zero if it does not say.
func scopeOf(o Observation, end time.Time) LimitScope {
	q := o.quota()
	return LimitScope(quota.ScopeOf(&q, end))
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

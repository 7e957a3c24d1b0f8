package petstore

import (
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

// LimitScope is the limit that refused a request, or would have refused it: that of the minute,
// that of the day, or a ban (section 8). The service does not report it, so the client infers it:
//
//   - ScopeBan after a 429 whose Retry-After ends after the Reset of the same response, or after
//     more than a minute if there is no Reset. A ban that ends before the window cannot be
//     recognised.
//   - ScopeDay for a used-up window that was more than a minute from its Reset in its first
//     response.
//   - ScopeMinute for all others.
//
// The zero LimitScope means that the limit is not known.
type LimitScope string

// The limits of section 8.
const (
	ScopeMinute LimitScope = "minute"
	ScopeDay    LimitScope = "day"
	ScopeBan    LimitScope = "ban"
)

// quota returns o as the type of package quota, which cannot import this package.
func (o *Observation) quota() quota.Observation {
	return quota.Observation{
		Sent: o.Sent, Received: o.Received, StatusCode: o.StatusCode,
		RateLimit: quota.RateLimit(o.RateLimit), RetryAfter: o.RetryAfter, Date: o.Date, Abandoned: o.Abandoned,
	}
}

// opensAt returns the time from which a 429, whose window ends at end, allows the next request;
// zero if the response does not say.
func opensAt(o Observation, end time.Time) time.Time {
	q := o.quota()
	return quota.OpensAt(&q, end)
}

// scopeOf returns the scope of a 429 whose window ends at end.
func scopeOf(o Observation, end time.Time) LimitScope {
	q := o.quota()
	return LimitScope(quota.ScopeOf(&q, end))
}

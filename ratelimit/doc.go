// Package ratelimit keeps the requests of a program within a limit that the server reports: by the
// headers X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After and Date of its
// responses (section 8 of the service document). It knows HTTP headers and time, and nothing else
// of the service.
//
// Most callers should use [New], and make one [Limiter] for all that uses an API key. Before each
// request they call [Limiter.Acquire], and afterwards the Release of its [Permit] with the
// [OutcomeOf] the response.
package ratelimit

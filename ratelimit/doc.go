// Package ratelimit keeps the requests of a program within a limit that the server reports, by
// the headers X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset, Retry-After and
// Date of its responses. It need not be told the limit, and follows it when it changes.
//
// Most callers should make one [Limiter] with [New] for all that use an API key, and call it
// around each request: [Limiter.Acquire] before, and the Release of the [Permit] afterwards, with
// the [OutcomeOf] the response. A server with other headers needs a function of its own in place
// of OutcomeOf; the example has one.
//
// A request waits while the window is used up, after a 429, and as long as too little is known.
// One that would wait for too long is refused immediately, with an [*Error] that says when to try
// again. An [Observer] is told of waits, and when a key is closed.
//
// The rules, and why they keep the limit, are in the README.md of this folder. Package
// ratelimittest tests other limiters.
package ratelimit

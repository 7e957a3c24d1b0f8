// Package quota has the rules of the limiter: how many requests one API key may have in flight,
// according to the responses of the service (section 8). It is a state machine without a lock, a
// queue, a timer or a clock: the caller passes the time to it.
//
// The rule numbers in the comments are those of docs/limiter.md.
package quota

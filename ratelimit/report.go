package ratelimit

import (
	"net/http"
	"time"
)

// Reason is what a request waits for, or what closes a key. The server does not report which of its
// limits refuses a request, so the limiter infers it. The zero Reason means that none is known.
// Other implementations of a limiter may have more reasons.
type Reason string

const (
	// ReasonMinute is the limit of a minute. An unknown limit is also reported as ReasonMinute.
	ReasonMinute Reason = "minute"
	// ReasonDay is the limit of a window that is longer than a minute: the Reset of a response was
	// more than a minute away.
	ReasonDay Reason = "day"
	// ReasonBan is a ban. It is inferred from a 429 whose Retry-After ends after the Reset of the
	// same response or, without a Reset, after more than a minute. A shorter ban is not recognised.
	ReasonBan Reason = "ban"
	// ReasonResponse means that another request must get its response first.
	ReasonResponse Reason = "response"
	// ReasonBackground means that the rest of the window is reserved for other requests.
	ReasonBackground Reason = "background"
	// ReasonBackoff is the pause after a failed attempt, or the Retry-After of a response other
	// than a 429.
	ReasonBackoff Reason = "backoff"
)

// Wait describes the wait of a request.
type Wait struct {
	// Reason is the reason at the start of the wait; it may change during the wait.
	Reason Reason
	// Until is the expected end of the wait, by the local clock; zero if it depends on a response.
	Until time.Time
	// Waiting is the number of requests in the queue, including this one.
	Waiting int
	// Duration is the length of the wait; 0 at its start.
	Duration time.Duration
}

// Lockout describes a key that is closed: for some time no request is admitted.
type Lockout struct {
	// Reason is the limit that seems to have closed the key; empty if not known.
	Reason Reason
	// Until is when the key opens, by the local clock; zero if the key is open.
	Until time.Time
	// Window is the last known window.
	Window Window
	// Sent is how many requests of this limiter the window has counted, or may have counted. It
	// includes neither a 401 nor a 429 that shows a window. Over Redis, it includes requests in
	// flight. If the window is used up and Sent is far below Window.Limit, others use the key.
	Sent int
	// Processes is the number of processes that use the key, if the limiter knows it; else 0.
	Processes int
}

// Observer gets the reports of a [Limiter] about a request and its key. The methods are called on
// the goroutine that called Acquire or Release, without a lock, so that they may use the limiter.
type Observer interface {
	// WaitStart is called when the request begins to wait.
	WaitStart(w Wait)
	// WaitDone is called once for each WaitStart, also if the request gets no permit.
	WaitDone(w Wait)
	// LimitClosed is called once for each lockout of the key: after a 429, when the day is used up,
	// or when a request is refused because its wait would be too long. It is called again if
	// another limit, such as a ban, closes the key for longer meanwhile.
	LimitClosed(l Lockout)
	// LimitOpened is called with the last Lockout when the server has accepted a request again.
	LimitOpened(l Lockout)
}

// Error reports that a request gets no permit. The context of the request has ended, or the wait
// was or would be longer than MaxWait or the deadline of the context allows.
type Error struct {
	// RetryAt is when to try again, by the local clock; zero if that depends on a response.
	RetryAt time.Time
	// Window is the last known window of the key.
	Window Window
	// Reason is the limit that the request would have had to wait for; empty if there is none.
	Reason Reason
	// Err is the error of the context, with its cause; nil if the context has not ended.
	Err error
}

// Error returns one line.
func (e *Error) Error() string {
	text := "rate limited"
	if e.Reason != "" {
		text += " (" + string(e.Reason) + ")"
	}
	if !e.RetryAt.IsZero() { // rounded up, since the format cuts off fractions of a second
		text += " until " + e.RetryAt.Add(time.Second-1).UTC().Format(time.RFC3339)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// report reports to an observer that a lockout began or ended; nil if none did.
type report func(o Observer)

// to calls r with the observer, unless one of them is nil. The lock must not be held.
func (r report) to(o Observer) {
	if r != nil && o != nil {
		r(o)
	}
}

// reportOf returns the report of the lockout that began or ended with the outcome of a request.
func (q *queue) reportOf(admitted time.Time, o *Outcome, now time.Time) report {
	b, last := q.budget, q.reported
	switch {
	case o.Received.IsZero() || o.StatusCode == http.StatusUnauthorized:
	case o.StatusCode == http.StatusTooManyRequests:
		return q.reportClosed(now, b.closedBy, b.closedUntil)
	case b.kind == ReasonDay && b.left() == 0:
		return q.reportClosed(now, b.kind, b.end)
	case last.Reason != "" && !admitted.Before(last.Until):
		q.reported = Lockout{}
		return func(o Observer) { o.LimitOpened(last) }
	}
	return nil
}

// reportClosed returns the report of a lockout. It returns nil if the lockout is over. It also
// returns nil if the last reported lockout still lasts, and ends no earlier or has the same limit.
// Reopen ends the last reported lockout.
func (q *queue) reportClosed(now time.Time, reason Reason, until time.Time) report {
	last := q.reported
	if !until.After(now) || !until.After(last.Until) {
		return nil
	}
	closed := q.lockout(reason, until)
	q.reported = closed
	if last.Reason == reason && last.Until.After(now) {
		return nil
	}
	return func(o Observer) { o.LimitClosed(closed) }
}

// lockout adds to the reason and the end of a lockout what is known about the key.
func (q *queue) lockout(reason Reason, until time.Time) Lockout {
	b := q.budget
	return Lockout{Reason: reason, Until: until, Window: b.known(), Sent: b.sent, Processes: b.processes}
}

// describe returns the Wait that is reported when w begins to wait.
func (w *waiter) describe(now time.Time) Wait {
	b, obstacle := w.queue.budget, w.queue.obstacle
	wait := Wait{Reason: obstacle.reason, Waiting: w.queue.waiting}
	if obstacle.reason != ReasonResponse {
		wait.Until = obstacle.askAt
	}
	switch {
	case w.NotBefore.After(now) && b.closedUntil.After(now):
		wait.Reason, wait.Until = b.closedBy, later(b.closedUntil, w.NotBefore)
	case w.NotBefore.After(now):
		wait.Reason, wait.Until = ReasonBackoff, w.NotBefore
	case w.Background && wait.Reason == ReasonMinute:
		wait.Reason = ReasonBackground
	}
	return wait
}

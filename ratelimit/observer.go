package ratelimit

import "time"

// Reason is what a request waits for, or what closes a key. The server does not report which of its
// limits refuses a request, so the limiter infers it. The zero Reason means that none is known.
// Other implementations of a limiter may have more reasons.
type Reason string

const (
	// ReasonMinute is the limit of a minute. A 429 that does not show its limit is also reported as
	// ReasonMinute.
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
	// ReasonBackoff is the pause after a failed attempt, or a Retry-After that the limiter does not
	// know, such as that of a 503.
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

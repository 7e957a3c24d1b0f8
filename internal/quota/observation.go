package quota

import "time"

// RateLimit has the X-RateLimit headers of one response (section 8.2); zero if they are not valid.
type RateLimit struct {
	Limit     int       // requests that the window allows
	Remaining int       // requests left in it
	Reset     time.Time // its end by the service's clock, in whole seconds
}

// Observation is the outcome of an admitted request. The zero Observation means that the request
// was not tried. Received without Sent means that it was tried and could not be sent.
type Observation struct {
	Sent       time.Time     // by the local clock; zero if nothing was sent
	Received   time.Time     // arrival of the header, by the local clock; zero without a response
	StatusCode int           // 0 without a response
	RateLimit  RateLimit     // zero without valid headers
	RetryAfter time.Duration // counted from Received; 0 without a valid header
	Date       time.Time     // the service's clock in whole seconds; zero without a valid header
	Abandoned  bool          // the caller gave up before a response came
}

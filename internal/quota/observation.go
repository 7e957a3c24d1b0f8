package quota

import "time"

// RateLimit is what the X-RateLimit headers of one response said (section 8.2); zero if nothing usable.
type RateLimit struct {
	Limit     int       // requests that a window allows
	Remaining int       // requests left in it
	Reset     time.Time // its end by the service's clock, to the second
}

// Observation is the outcome of an admitted request. The zero Observation says that nothing was sent.
type Observation struct {
	Sent       time.Time     // by the local clock; zero if nothing was sent
	Received   time.Time     // of the response's header, by the local clock; zero if none came
	StatusCode int           // 0 if no response came
	RateLimit  RateLimit     // zero if its headers said nothing usable
	RetryAfter time.Duration // counted from Received; zero if the response did not say
	Date       time.Time     // the service's clock, to the second; zero if absent
	Abandoned  bool          // the caller gave up before a response came
}

package fake

import "time"

// Now returns the server's time: that of its clock, moved by [Server.Advance] and
// [Server.SetTime].
func (s *Server) Now() time.Time {
	return s.config.clock().Add(time.Duration(s.offset.Load()))
}

// Advance moves the server's clock ahead: windows pass, bans end, and the Date header follows. A
// negative d moves it back, as SetTime does. It wakes no client: clients wait by their own clock,
// and so does a [Fault.Delay]. Inside a testing/synctest bubble time.Sleep moves both clocks
// together.
func (s *Server) Advance(d time.Duration) {
	mustBeTime("Advance", s.Now().Add(d))
	s.offset.Add(int64(d))
}

// SetTime moves the server's clock to t, from where it goes on. Like Advance, it wakes no client.
// All windows start again if t is more than a second before [Server.Now], and a ban keeps the time
// it had left. The server's time must stay between 1970 and 2292.
func (s *Server) SetTime(t time.Time) {
	mustBeTime("SetTime", t)
	s.offset.Store(int64(t.Sub(s.config.clock())))
}

// mustBeTime panics on a time before 1970, whose X-RateLimit-Reset clients do not read, and on one
// whose difference from a bubble's clock, which begins in 2000, overflows a time.Duration.
func mustBeTime(where string, t time.Time) {
	t = t.UTC()
	must(t.Unix() >= 0 && t.Year() < 2292, where, "%s is not between 1970 and 2292", t.Format(time.RFC3339))
}

// ceilUnix returns the first whole second that is not before t, as Unix time. Rounding up makes
// it safe for a client to come back at the time that it was given.
func ceilUnix(t time.Time) int64 {
	sec := t.Unix()
	if t.Nanosecond() > 0 {
		sec++
	}
	return sec
}

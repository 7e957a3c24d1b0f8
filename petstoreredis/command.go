package petstoreredis

import (
	"slices"
	"time"

	"github.com/petstore/petstore-go/internal/quota"
)

// extra limits the number of permits that a process asks for beyond those for its waiters, so that
// one process cannot reserve a window.
const extra = 64

// command is the argument of the script. Durations are milliseconds.
type command struct {
	ID       string   `json:"id"`
	Seq      int      `json:"seq"`
	Lease    int64    `json:"lease"`
	Holding  int      `json:"holding"` // unused permits, and requests in flight
	Probes   int      `json:"probes"`  // probes in flight
	Want     int      `json:"want"`    // permits to reserve
	Reports  []report `json:"reports,omitempty"`
	Memory   *memory  `json:"memory,omitempty"`
	Reopen   bool     `json:"reopen"`   // grant a probe although the key is closed
	Instance string   `json:"instance"` // of the state at the last reply
	Commands int      `json:"commands"` // number of commands that the state had seen then
	At       int64    `json:"at"`       // when that was, by the clock of Redis
}

// memory is the knowledge of the process, in case Redis has lost its state.
type memory struct {
	Window *report     `json:"window,omitempty"`
	Gate   int64       `json:"gate"`   // how long the key stays closed after a 429
	Scope  quota.Scope `json:"scope"`  // the limit that closed it
	Closed int64       `json:"closed"` // time since the 429
}

// reply is the result of the script. Times are milliseconds from now on.
type reply struct {
	slot

	Stale       bool        `json:"stale"`   // a later command of the process came before this one
	Granted     int         `json:"granted"` // permits
	Reason      string      `json:"reason"`  // what the process waits for if no permit is granted
	Wait        int64       `json:"wait"`    // when to send the next command
	Limit       int         `json:"limit"`
	Left        int         `json:"left"`
	Taken       int         `json:"taken"`       // permits of this window that the process got
	Outstanding int         `json:"outstanding"` // permits of all processes without an outcome
	Shown       int64       `json:"shown"`       // Reset of the header
	Day         bool        `json:"day"`         // the window is longer than a minute
	Ends        int64       `json:"ends"`        // end of the window
	Unsure      bool        `json:"unsure"`      // the next request must be a probe
	Gate        int64       `json:"gate"`        // how long the key stays closed after a 429
	Scope       quota.Scope `json:"scope"`       // the limit that closed it
	Closed      int64       `json:"closed"`      // time since the 429
	Processes   int         `json:"processes"`
	Waiting     int         `json:"waiting"`  // processes that wait for a permit
	Commands    int         `json:"commands"` // number of commands that the state has seen
	At          int64       `json:"at"`       // when the script ran, by the clock of Redis
	Repaired    bool        `json:"repaired"` // the state could not be read, and was replaced by a new one
}

// problem returns why the script cannot have made this reply to a command for want permits; empty if
// it can. Something else may have replied instead of the script.
func (r *reply) problem(want int) string {
	const year, longest, most = 370 * 24 * 3600_000, 1 << 42, 1 << 40 // longest is 139 years in milliseconds
	tooLong := func(ms int64) bool { return ms < -longest || ms > longest }
	counts := []int64{
		int64(r.Limit), int64(r.Left), int64(r.Taken), int64(r.Outstanding), int64(r.Waiting), int64(r.Commands),
		int64(r.Epoch), r.Shown,
	}
	switch {
	case r.Instance == "":
		return "it has no instance"
	case r.Granted < 0 || r.Granted > want:
		return "it grants what was not asked for"
	case r.Wait > year || slices.ContainsFunc([]int64{r.Wait, r.Ends, r.Gate, r.Closed}, tooLong):
		return "a time in it is too long"
	case r.Processes < 1 || slices.ContainsFunc(counts, func(n int64) bool { return n < 0 || n > most }):
		return "a number in it is negative or too large"
	case !slices.Contains([]quota.Scope{"", quota.Minute, quota.Day, quota.Ban}, r.Scope):
		return "its scope is unknown"
	}
	return ""
}

// command returns the next command.
func (l *Limiter) command(now time.Time) command {
	if !now.Before(l.grantedAt.Add(l.hold())) {
		l.returnUnused()
	}
	l.seq++
	c := command{
		ID: l.id, Seq: l.seq, Lease: l.config.lease.Milliseconds(),
		Holding: l.inFlight + len(l.unused), Probes: l.probes, Want: l.want(), Memory: l.memory(now),
		Reopen: l.reopens, Instance: l.known.Instance, Commands: l.known.Commands, At: l.known.At,
	}
	for _, r := range l.reports {
		c.Reports = append(c.Reports, r.at(now))
	}
	l.reports = nil
	l.asked = l.calls.Arrived()
	return c
}

// returnUnused returns the unused permits with the next command.
func (l *Limiter) returnUnused() {
	for _, s := range l.unused {
		l.report(report{slot: s, N: 1, Unsent: true, Abandoned: true})
	}
	l.unused = nil
}

// hold returns how long to keep an unused permit.
func (l *Limiter) hold() time.Duration {
	hold := holdFor
	if l.known.Waiting == 0 && l.known.Outstanding < l.known.Left/2 {
		hold = wideHoldFor
	}
	return min(hold, l.config.lease/2)
}

// want returns the number of permits to ask for: one for each waiter, or as many as calls will
// probably use within hold, by how fast they used the last ones.
func (l *Limiter) want() int {
	waiting := l.calls.Len()
	if waiting == 0 || l.fallback.share != nil {
		return 0
	}
	used := l.granted - len(l.unused)
	took := max(l.usedAt.Sub(l.grantedAt), time.Millisecond)
	pace := int(float64(used) * 0.8 * float64(l.hold()) / float64(took)) // 0.8, so that few are returned unused
	return max(waiting, min(pace, 4*used, extra))
}

// memory returns the knowledge of this process; nil if there is none that Redis could have lost.
func (l *Limiter) memory(now time.Time) *memory {
	m := memory{Scope: l.known.Scope}
	if l.known.gate.After(now) {
		m.Gate = milliseconds(l.known.gate.Sub(now))
		m.Closed = max(0, now.Sub(l.known.closedAt).Milliseconds())
	}
	if o := l.last; o.RateLimit.Limit > 0 && l.known.Epoch > 0 { // otherwise the reports have it
		o.RateLimit = l.known.rateLimit
		r := newReport(slot{}, false, &o, l.offset)
		r.N, r.Rejected = 0, false
		if r.resetAt.After(now) {
			r = r.at(now)
			m.Window = &r
		}
	}
	if m.Gate == 0 && m.Window == nil {
		return nil
	}
	return &m
}

// milliseconds returns d in milliseconds, rounded up.
func milliseconds(d time.Duration) int64 {
	return (d + time.Millisecond - 1).Milliseconds()
}

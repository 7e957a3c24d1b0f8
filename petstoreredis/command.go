package petstoreredis

import (
	"slices"
	"time"

	"github.com/petstore/petstore-go"
)

// extra is how many permits a process asks for at most beyond those that its calls wait for, so
// that one process cannot reserve a window.
const extra = 64

// command is what a process sends to the script. Times are milliseconds.
type command struct {
	ID       string   `json:"id"`
	Seq      int      `json:"seq"`
	Lease    int64    `json:"lease"`
	Holding  int      `json:"holding"` // unused permits, and requests in flight
	First    int      `json:"ahead"`   // the probes among them
	Want     int      `json:"want"`
	Reports  []report `json:"reports,omitempty"`
	Memory   *memory  `json:"memory,omitempty"`
	Reopen   bool     `json:"reopen"`   // one request must be a probe, closed or not
	Instance string   `json:"instance"` // of the state that replied last
	Commands int      `json:"commands"` // that it had seen then
	At       int64    `json:"at"`       // when that was, by the clock of Redis

	reports []report // Reports as they were made
}

// memory is what the process knows, for the case that Redis has lost it.
type memory struct {
	Window *report `json:"window,omitempty"`
	Gate   int64   `json:"gate"`
	Scope  string  `json:"scope"`
	Closed int64   `json:"closed"` // how long ago the gate was closed
}

// reply is what the script replies. Times are milliseconds from now.
type reply struct {
	slot

	Stale       bool   `json:"stale"` // a later command of the process has overtaken this one
	Granted     int    `json:"granted"`
	Reason      string `json:"reason"` // what there is to wait for if nothing is granted
	Wait        int64  `json:"wait"`   // in how long to ask again
	Limit       int    `json:"limit"`
	Left        int    `json:"left"`
	Taken       int    `json:"taken"` // of this window, by the process
	Outstanding int    `json:"outstanding"`
	Shown       int64  `json:"shown"` // Reset as it came
	Day         bool   `json:"day"`
	Ends        int64  `json:"ends"`
	Unsure      bool   `json:"unsure"` // nothing known covers another request
	Gate        int64  `json:"gate"`
	Scope       string `json:"scope"`
	Closed      int64  `json:"closed"` // how long ago the gate was closed
	Processes   int    `json:"processes"`
	Waiting     int    `json:"waiting"`  // processes that want what there is not
	Commands    int    `json:"commands"` // that the state has seen
	At          int64  `json:"at"`       // when this one was carried out, by the clock of Redis
	Repaired    bool   `json:"repaired"` // the state could not be read, and has begun afresh
}

// problem returns why the script cannot have replied this to a command that asked for want permits,
// empty if it can: somebody else may have written what a client of Redis gets.
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
	case !slices.Contains([]petstore.LimitScope{"", petstore.ScopeMinute, petstore.ScopeDay, petstore.ScopeBan},
		petstore.LimitScope(r.Scope)):
		return "its scope is unknown"
	}
	return ""
}

// command makes the next command, which asks for that many permits.
func (l *Limiter) command(now time.Time, want int) command {
	if !now.Before(l.grantedAt.Add(l.hold())) {
		l.returnUnused()
	}
	l.seq++
	c := command{
		ID: l.id, Seq: l.seq, Lease: l.config.lease.Milliseconds(),
		Holding: l.inFlight + len(l.unused), First: l.first, Want: want, Memory: l.memory(now),
		Reopen: l.reopens, Instance: l.known.Instance, Commands: l.commands, At: l.stateTime,
	}
	for _, r := range l.reports {
		c.Reports = append(c.Reports, r.at(now))
	}
	c.reports, l.reports = l.reports, nil
	l.queue.each(func(w *waiter, _ int) { w.asked = l.seq })
	return c
}

// returnUnused returns the permits that no call has asked for.
func (l *Limiter) returnUnused() {
	for _, s := range l.unused {
		l.report(report{slot: s, N: 1, Unsent: true, Abandoned: true})
	}
	l.unused = nil
}

// hold returns how long to keep a permit that no call has asked for.
func (l *Limiter) hold() time.Duration {
	hold := holdFor
	if l.known.waiting == 0 && l.known.outstanding < l.known.left/2 {
		hold = wideHoldFor
	}
	return min(hold, l.config.lease/2)
}

// want returns how many permits to ask for: for the calls that wait, or as many as will be used
// while they are held, judged by how fast the last ones were.
func (l *Limiter) want() int {
	waiting := l.queue.len()
	if waiting == 0 || l.fallback.share != nil {
		return 0
	}
	used := l.granted - len(l.unused)
	took := max(l.usedAt.Sub(l.grantedAt), time.Millisecond)
	pace := int(float64(used) * 0.8 * float64(l.hold()) / float64(took)) // 0.8: fewer that go back unused
	return max(waiting, min(pace, 4*used, extra))
}

// memory returns what this process knows, nil if there is nothing that Redis could have lost.
func (l *Limiter) memory(now time.Time) *memory {
	m := memory{Scope: string(l.known.closedBy)}
	if l.known.gate.After(now) {
		m.Gate = milliseconds(l.known.gate.Sub(now))
		m.Closed = max(0, now.Sub(l.known.closedAt).Milliseconds())
	}
	if o := l.last; o.RateLimit.Limit > 0 && l.known.Epoch > 0 { // otherwise the reports say it
		o.RateLimit = l.known.rateLimit
		r := newReport(slot{}, false, o, l.offset)
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

package ratelimit

import (
	"slices"
	"time"
)

// late is the time after which a request in flight is late: five times the longest usual latency.
const late = time.Second

// recent counts the requests in flight that are not late, by the time at which they were admitted
// (rule 7). A queue is admitted at one time: then no request moves the others.
type recent struct {
	count  int
	groups []group // in their order; only the first one cannot be empty
}

// group is the requests that were admitted at one time.
type group struct {
	admitted time.Time
	count    int
}

// add adds a request that is admitted now.
func (r *recent) add(now time.Time) {
	r.count++
	if last := len(r.groups) - 1; last >= 0 && r.groups[last].admitted.Equal(now) {
		r.groups[last].count++
		return
	}
	r.groups = append(r.groups, group{now, 1})
}

// remove removes a request that was admitted at that time, if it is not late.
func (r *recent) remove(admitted time.Time) {
	at, found := slices.BinarySearchFunc(r.groups, admitted, func(g group, t time.Time) int { return g.admitted.Compare(t) })
	if found {
		r.groups[at].count--
		r.count--
	}
	r.advance(time.Time{})
}

// advance removes the requests that are late at now, and the empty groups before the first other.
func (r *recent) advance(now time.Time) {
	n := 0
	for n < len(r.groups) && (r.groups[n].count == 0 || now.Sub(r.groups[n].admitted) >= late) {
		r.count -= r.groups[n].count
		n++
	}
	if n > 0 {
		r.groups = slices.Delete(r.groups, 0, n)
	}
}

// wake returns when the oldest request becomes late; zero if there is none.
func (r *recent) wake() time.Time {
	if r.count == 0 {
		return time.Time{}
	}
	return r.groups[0].admitted.Add(late)
}

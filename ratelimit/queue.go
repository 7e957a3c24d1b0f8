package ratelimit

import (
	"slices"
	"sort"
	"time"
)

const (
	// A background request that has waited for agedAfter gets a share of the permits although others
	// wait. This is the length of a window: at least one has begun while the request waited.
	agedAfter = time.Minute
	// agedShare: aged background requests get one permit in 10 while others wait. That is as much of a
	// window as background requests leave to the others.
	agedShare = 10
)

// queue has the budget of one key and the requests that wait for it. It asks the budget to admit
// the first request, then the next one, until the budget refuses (dispatch). It asks again when a
// permit is released, and at the time that the budget named when it refused (setAlarm). The lock of
// the limiter guards it.
//
// A request that finds nobody waiting asks the budget itself (Limiter.enter). Otherwise it becomes
// a waiter. Its wait, which ends with a permit or a refusal, is in waiter.go.
type queue struct {
	limiter *Limiter
	key     string
	budget  budget
	// pot is nil if the budget is not shared.
	pot *pot
	// why is what the first waiter waits for; zero if there is no waiter.
	why hold
	// checked is what budget.ends was when the waiters were last checked for those that come too late.
	checked time.Time

	// waiters are the requests that can get a permit, in the order in which they will get one. waiting
	// counts all requests that wait, including those that have not reported their wait yet and those
	// that wait for their NotBefore.
	waiters []*waiter
	waiting int
	// arrived is how many requests had to wait so far. It numbers the waiters.
	arrived uint64
	// passed is how many other requests were admitted since the last background request.
	passed int

	// since is when the first waiter began to wait for a limit; zero while it waits for a response, or
	// while there is none. limited is the sum of the earlier waits for a limit. Only these waits count
	// against MaxWait.
	since   time.Time
	limited time.Duration

	timer *time.Timer
	// alarm is the time for which timer is set; zero without a timer.
	alarm time.Time
}

// dispatch gives permits to the first waiters, as many as the budget admits. It is called whenever
// there may be a permit: after a release, at the alarm, and when a request joins or leaves.
func (q *queue) dispatch(now time.Time) {
	for len(q.waiters) > 0 {
		w, asBackground := q.first(now)
		p := q.admit(now, asBackground)
		if p == nil {
			break
		}
		if w.Background {
			q.passed = 0
		}
		p.observer, w.permit = w.Observer, p
		q.leave(w)
	}
	if len(q.waiters) == 0 && q.why.reason != "" {
		q.block(now, hold{})
	}
	wake := q.why.wake
	if q.pot != nil {
		wake = q.draw(now)
	}
	q.setAlarm(now, wake)
}

// first returns the waiter that goes next, and whether it must leave the background reserve to
// others. After nine other permits, that is a background request that has waited for long, if there
// is one.
func (q *queue) first(now time.Time) (w *waiter, asBackground bool) {
	w = q.waiters[0]
	if w.Background || q.passed < agedShare-1 {
		return w, w.Background
	}
	if i := q.foreground(); i < len(q.waiters) && now.Sub(q.waiters[i].entered) >= agedAfter {
		return q.waiters[i], false
	}
	return w, false
}

// foreground returns how many of the waiters are not background requests. These come first.
func (q *queue) foreground() int {
	return sort.Search(len(q.waiters), func(i int) bool { return q.waiters[i].Background })
}

// admit asks the budget for one request. If the budget refuses, admit records what to wait for, and
// returns nil.
func (q *queue) admit(now time.Time, asBackground bool) *permit {
	admit := q.budget.admit
	if q.pooled() {
		admit = q.take
	}
	slot, why, ok := admit(now, asBackground)
	if !ok {
		q.block(now, why)
		return nil
	}
	if !asBackground {
		q.passed++
	}
	p := &permit{queue: q, slot: slot}
	if q.pot != nil {
		q.pot.mark(p)
	}
	return p
}

// block records what the first waiter waits for. When that becomes a limit, or its end moves,
// waiters that cannot wait for so long are refused immediately.
func (q *queue) block(now time.Time, why hold) {
	// The end of a sliding window moves a little with each response: that is no news.
	const slide = time.Second
	q.why = why
	begins, ends := false, q.budget.ends()
	switch {
	case why.until.IsZero():
		q.limited, q.since = q.clock(now), time.Time{}
	case q.since.IsZero():
		q.since, begins = now, true
	}
	if begins || ends.Sub(q.checked).Abs() > slide {
		q.checked = ends
		before := 0
		q.waiters = slices.DeleteFunc(q.waiters, func(w *waiter) bool {
			if q.refuseLate(now, w, before) {
				close(w.ready)
				return true
			}
			before++
			return false
		})
	}
}

// clock returns the total time in which the first waiter waited for limits. The difference between
// two readings is the time that counts against the longest wait of a request.
func (q *queue) clock(now time.Time) time.Duration {
	if q.since.IsZero() {
		return q.limited
	}
	return q.limited + now.Sub(q.since)
}

// place returns the number of waiters that go before w. Nearly always all of them do.
func (q *queue) place(w *waiter) int {
	if n := len(q.waiters); n == 0 || q.waiters[n-1].compare(w) < 0 {
		return n
	}
	i, _ := slices.BinarySearchFunc(q.waiters, w, (*waiter).compare)
	return i
}

// remove removes w, which must be one of the waiters. There may be 100,000: when the first one
// leaves, as nearly always, the others are not moved.
func (q *queue) remove(w *waiter) {
	if q.waiters[0] == w {
		q.waiters[0] = nil
		q.waiters = q.waiters[1:]
		return
	}
	i := q.place(w)
	q.waiters = slices.Delete(q.waiters, i, i+1)
}

// leave removes w from the waiters, and ends its wait. w has its permit or a refusal then, or
// nobody waits for it any more.
func (q *queue) leave(w *waiter) {
	q.remove(w)
	close(w.ready)
}

// nap returns for how long a wait of d sleeps before it looks at the wall clock again: timers stand
// still while the machine is suspended, and the wall clock can be set. It sleeps for a sixteenth of
// what is left, and at least 30 seconds: then a wait of a day looks at the clock about a hundred
// times, and ends late by little.
func nap(d time.Duration) time.Duration { return min(d, max(30*time.Second, d/16)) }

// setAlarm sets the timer that calls dispatch at a time, or earlier; the zero time stands for
// never.
func (q *queue) setAlarm(now, at time.Time) {
	if at.Equal(q.alarm) {
		return
	}
	if q.timer != nil {
		q.timer.Stop() // if it has just fired, one more ring does no harm
		q.timer = nil
	}
	if q.alarm = at; !at.IsZero() {
		q.timer = time.AfterFunc(nap(at.Sub(now)), q.ring)
	}
}

// ring is called by the timer, on a goroutine of its own.
func (q *queue) ring() {
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	now := q.limiter.now()
	q.setAlarm(now, time.Time{})
	q.dispatch(now)
}

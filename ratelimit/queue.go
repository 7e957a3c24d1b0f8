package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"
)

// queue has the budget of one key and the requests that wait for a permit. It asks the budget to
// admit the first waiter, then the next one, until the budget returns an obstacle (dispatch). It
// asks again when a permit is released, and at the time askAt of the obstacle. The lock of the
// limiter guards it.
type queue struct {
	limiter    *Limiter
	budget     *budget
	queued     []*waiter   // the waiters that have joined, in the order in which they will be admitted
	waiting    int         // number of all waiters, also of those that have not joined yet
	obstacle   obstacle    // of the first waiter, or of the last request that was not admitted
	refusedFor time.Time   // late waiters were last refused for this value of budget.ends()
	timer      *time.Timer // calls dispatch while requests wait; nil if it is not set
	reported   Lockout     // the last one that was reported; zero once its end was reported
}

// waiter is a request that has to wait, until it is admitted or refused. It joins the queue once
// its NotBefore has passed and WaitStart of its observer has returned. In WaitStart, the observer
// may make another request, which must not wait for this one. The lock of the limiter guards it.
type waiter struct {
	Request
	queue   *queue
	entered time.Time
	latest  time.Time     // until when it may wait for a limit, by MaxWait and its deadline
	wait    Wait          // what is reported to the observer
	decided chan struct{} // closed once it is admitted or refused; nil before it joins the queue
	permit  *permit       // nil until it is admitted
	refused *Error        // nil until it is refused
	report  report        // of the lockout for which it is refused
}

const (
	// extraWait is how much longer than MaxWait a request may be in Acquire, whatever it waits for.
	extraWait = time.Second
	// longestNap is how long a wait sleeps before it reads the wall clock again: timers stand still
	// while the machine is suspended, and the wall clock can be set.
	longestNap = 30 * time.Second
)

// syncClock returns the time of the wall clock, without the monotonic clock, which stands still
// while a machine is suspended. If the wall clock was set back by more than a second, as between
// two synctest bubbles, the queue forgets everything. If it was set back by less, the budget goes
// on with its latest time, because to forget everything would open a key that is closed.
func (q *queue) syncClock() time.Time {
	now := q.limiter.now().Round(0)
	if q.budget.now.Sub(now) > time.Second {
		q.budget, q.reported = &budget{processes: q.limiter.processes}, Lockout{}
	}
	return now
}

// dispatch admits as many waiters as the budget allows, the first one first. It is called whenever
// one may be admitted: after a release, when the timer fires, and when a waiter joins or leaves.
func (q *queue) dispatch(now time.Time) {
	for len(q.queued) > 0 {
		w := q.queued[0]
		w.permit = q.permitFor(now, &w.Request)
		if w.permit == nil {
			break
		}
		q.queued[0] = nil
		q.queued = q.queued[1:]
		close(w.decided)
	}
	q.setTimer(now)
}

// permitFor returns a permit if the budget admits the request; nil if the request has to wait.
func (q *queue) permitFor(now time.Time, r *Request) *permit {
	admitted, why := q.budget.admit(now, r.Background)
	if why.reason != "" {
		q.setObstacle(now, why)
		return nil
	}
	return &permit{snapshot: admitted, queue: q, observer: r.Observer, budget: q.budget}
}

// setObstacle notes what the queue waits for. It refuses the waiters that would now wait too long,
// if the obstacle is another limit than before, or if the end of the limit or of the window has
// moved by more than a second. Smaller moves are ignored, because each response moves the end of a
// sliding window a little.
func (q *queue) setObstacle(now time.Time, why obstacle) {
	another := why.reason != q.obstacle.reason || why.askAt.Sub(q.obstacle.askAt) > time.Second
	moved := q.budget.ends().Sub(q.refusedFor).Abs()
	q.obstacle = why
	if (another && why.reason != ReasonResponse) || moved > time.Second {
		q.refuseLateWaiters(now)
	}
}

// refuseLateWaiters refuses the waiters that cannot wait for as long as their limit lasts.
func (q *queue) refuseLateWaiters(now time.Time) {
	q.refusedFor = q.budget.ends()
	ahead := 0
	q.queued = slices.DeleteFunc(q.queued, func(w *waiter) bool {
		if w.refuseIfLate(now, ahead) {
			close(w.decided)
			return true
		}
		ahead++
		return false
	})
}

// place returns the number of waiters that go before w. Background requests come after all others;
// otherwise, the request that asked first comes first.
func (q *queue) place(w *waiter) int {
	return sort.Search(len(q.queued), func(i int) bool {
		other := q.queued[i]
		return other.Background && !w.Background || other.Background == w.Background && other.Asked.After(w.Asked)
	})
}

// setTimer sets the timer, which calls dispatch when the obstacle is over. If no request waits, it
// only stops the timer. It may be longer than longestNap: each waiter wakes up after longestNap,
// and calls dispatch.
func (q *queue) setTimer(now time.Time) {
	if q.timer != nil {
		q.timer.Stop() // if the timer has just fired, one more dispatch does no harm
	}
	if len(q.queued) == 0 {
		q.obstacle, q.timer = obstacle{}, nil
		return
	}
	q.timer = time.AfterFunc(q.obstacle.askAt.Sub(now), func() {
		q.limiter.mu.Lock()
		defer q.limiter.mu.Unlock()
		q.dispatch(q.syncClock())
	})
}

func (q *queue) newWaiter(ctx context.Context, now time.Time, r *Request) *waiter {
	w := &waiter{Request: *r, queue: q, entered: now}
	w.latest = now.Add(max(0, r.MaxWait))
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(w.latest) {
		w.latest = deadline
	}
	if w.Asked.IsZero() {
		w.Asked = now
	}
	return w
}

// waitForDecision waits until w is admitted or refused, and reports the wait. The lock must not be
// held.
func (w *waiter) waitForDecision(ctx context.Context) {
	if w.Observer != nil {
		defer func() { w.Observer.WaitDone(w.wait) }()
		w.Observer.WaitStart(w.wait)
	}
	for left := w.proceed(ctx); left > 0; left = w.proceed(ctx) {
		timer := time.NewTimer(min(left, longestNap))
		select {
		case <-w.decided:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// proceed lets w join the queue once its NotBefore has passed, and refuses w once its context has
// ended or its wait was too long. It returns for how long w may sleep; 0 if its wait is over.
func (w *waiter) proceed(ctx context.Context) time.Duration {
	q := w.queue
	q.limiter.mu.Lock()
	defer q.limiter.mu.Unlock()
	now := q.syncClock()
	ended, early := contextError(ctx), w.NotBefore.Sub(now)
	if w.decided == nil && ended == nil && early <= 0 {
		w.join(now)
	}
	q.dispatch(now) // a permit may become free at the moment at which the wait ends
	left := w.latest.Add(extraWait).Sub(now)
	undecided := w.permit == nil && w.refused == nil
	switch {
	case ended != nil || undecided && left <= 0: // if its context has ended, also when w has just been admitted
		w.leave(now)
		w.refuse(now, 0, ended)
	case undecided && w.decided == nil:
		return early
	case undecided:
		return left
	}
	q.waiting--
	w.wait.Duration = now.Sub(w.entered)
	return 0
}

// join puts w into the queue, unless it is refused.
func (w *waiter) join(now time.Time) {
	w.decided = make(chan struct{})
	place := w.queue.place(w)
	if !w.refuseIfLate(now, place) {
		w.queue.queued = slices.Insert(w.queue.queued, place, w)
	}
}

// leave takes w out of the queue or gives back its permit, so that another request may be admitted.
func (w *waiter) leave(now time.Time) {
	if w.permit != nil {
		w.permit.budget.settle(&w.permit.snapshot, &Outcome{}, now)
		w.permit = nil
	}
	if i := slices.Index(w.queue.queued, w); i >= 0 {
		w.queue.queued = slices.Delete(w.queue.queued, i, i+1)
	}
	w.queue.dispatch(now)
}

// refuseIfLate refuses w if it must not wait, or if a known limit or its NotBefore lasts longer
// than w can wait. It reports whether it has refused w. `ahead` is the number of waiters before w.
// A wait for a response is no reason to refuse w, because nobody knows how long it will take.
func (w *waiter) refuseIfLate(now time.Time, ahead int) bool {
	opens, _ := w.queue.budget.earliest(now, ahead, w.Background)
	late := w.noWait || later(opens, w.NotBefore).After(later(now, w.latest))
	if late {
		w.refuse(now, ahead, nil)
	}
	return late
}

// refuse refuses w. If ended is not nil, the reason is that the context of w has ended. Otherwise
// the wait of w was too long, or would be. In this case, if a limit is the reason, the lockout is
// reported. `ahead` is the number of waiters before w. It is 0 after a wait, and if the context has
// ended: then RetryAt is the earliest time for any request.
func (w *waiter) refuse(now time.Time, ahead int, ended error) {
	opens, reason := w.queue.budget.earliest(now, ahead, w.Background)
	w.refused = &Error{Window: w.queue.budget.known(), Reason: reason, Err: ended}
	if reason != "" || ended == nil && w.NotBefore.After(now) {
		w.refused.RetryAt = later(opens, w.NotBefore)
	}
	if reason != "" && ended == nil {
		w.report = w.queue.reportClosed(now, reason, opens)
	}
}

// contextError has a twin in petstoreredis. It returns an error that matches the error and the
// cause of a context that has ended; nil if it has not ended.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

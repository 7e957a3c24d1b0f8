package queue

import (
	"time"

	"github.com/petstore/petstore-go/internal/deadline"
)

// alarm is when a Queue has its budget look for permits again, if nothing happens before.
type alarm struct {
	timer *time.Timer
	at    time.Time // when timer fires; zero without one
}

// SetAlarm has the budget dispatch permits at a time, or earlier; the zero time stands for never.
func (q *Queue[P]) SetAlarm(now, at time.Time) {
	a := &q.alarm
	if !at.IsZero() {
		at = now.Add(deadline.Slice(at.Sub(now)))
	}
	if at.Equal(a.at) || !at.IsZero() && !a.at.IsZero() && a.at.After(now) && a.at.Before(at) {
		return // the timer fires early enough, and the budget sets it again
	}
	if a.timer != nil {
		a.timer.Stop() // if it has just fired, one more call does no harm
		a.timer = nil
	}
	a.at = at
	if !at.IsZero() {
		a.timer = time.AfterFunc(at.Sub(now), q.ring)
	}
}

// ring is called by the timer.
func (q *Queue[P]) ring() {
	q.budget.Lock()
	defer q.budget.Unlock()
	if now := time.Now(); !now.Before(q.alarm.at) {
		q.alarm = alarm{}
		q.budget.Dispatch(now)
	}
}

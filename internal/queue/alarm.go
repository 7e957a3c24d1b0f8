package queue

import (
	"time"

	"github.com/petstore/petstore-go/internal/deadline"
)

// Alarm calls a function at a time that may change. A lock must guard it.
type Alarm struct {
	f     func()
	timer *time.Timer
	at    time.Time // when timer fires; zero without one
}

// Init sets the function, which must call Fired.
func (a *Alarm) Init(f func()) { a.f = f }

// Set has the function called at a time, or earlier; the zero time stands for never.
func (a *Alarm) Set(now, at time.Time) {
	if !at.IsZero() {
		at = now.Add(deadline.Slice(at.Sub(now)))
	}
	if at.Equal(a.at) || !at.IsZero() && !a.at.IsZero() && a.at.After(now) && a.at.Before(at) {
		return // the timer fires early enough, and the function sets it again
	}
	if a.timer != nil {
		a.timer.Stop() // if it has just fired, one more call does no harm
		a.timer = nil
	}
	a.at = at
	if !at.IsZero() {
		a.timer = time.AfterFunc(at.Sub(now), a.f)
	}
}

// Fired reports whether the time has come, and then clears the alarm.
func (a *Alarm) Fired(now time.Time) bool {
	if now.Before(a.at) {
		return false
	}
	a.timer, a.at = nil, time.Time{}
	return true
}

// At returns when the function will be called; zero for never.
func (a *Alarm) At() time.Time { return a.at }

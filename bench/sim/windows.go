package sim

import (
	"time"

	"github.com/petstore/petstore-go/fake"
)

// windows is how the service counts a run that always uses up the window as early as it can.
type windows struct {
	kind        fake.Window
	minute, day []time.Time // when the window opened in which each request so far was counted
	perMinute   int
	perDay      int       // 0 is unlimited
	change      time.Time // from when on laterPlan holds, until it does; zero is never
	laterPlan   int
	changed     time.Time // the first window with laterPlan
}

// windows returns how the service counts in a run that begins at begin by its clock.
func (c cell) windows(begin time.Time) windows {
	w := windows{kind: c.window, perMinute: c.perMinute, perDay: c.plan().PerDay}
	if c.condition.planChange > 0 {
		w.change, w.laterPlan = begin.Add(c.condition.planChange), c.laterPlan()
	}
	return w
}

// opens returns when the window opens in which the next request can be counted, if it reaches the
// service no earlier than reached.
func (w *windows) opens(reached time.Time) time.Time {
	w.followPlan()
	return latest(w.changed,
		w.next(w.minute, time.Minute, w.perMinute, reached),
		w.next(w.day, 24*time.Hour, w.perDay, reached))
}

// count notes that the next request is counted at at, or later.
func (w *windows) count(at time.Time) {
	minute := latest(w.changed, w.next(w.minute, time.Minute, w.perMinute, at))
	day := w.next(w.day, 24*time.Hour, w.perDay, at)
	switch w.kind {
	case fake.WindowFixed:
		if !day.Before(minute.Add(time.Minute)) { // the day was used up: nothing opened this window before
			minute = day
		}
	case fake.WindowAligned:
		minute, day = latest(minute, at.Truncate(time.Minute)), latest(day, at.Truncate(24*time.Hour))
	case fake.WindowSliding: // to the second; each request takes its place for a span from then on
		minute, day = at.Truncate(time.Second), at.Truncate(time.Second)
	}
	w.minute, w.day = append(w.minute, minute), append(w.day, day)
}

// next returns when the window opens that counts the next request: that of the one
// before it, or the one after the window of the request that is limit requests ago.
func (w *windows) next(opened []time.Time, span time.Duration, limit int, reached time.Time) time.Time {
	i := len(opened)
	switch {
	case limit > 0 && i >= limit:
		return opened[i-limit].Add(span)
	case i > 0:
		return opened[i-1]
	case w.kind == fake.WindowAligned:
		return reached.Truncate(span)
	}
	return reached.Truncate(time.Second)
}

// followPlan goes over to the later plan at the first window that opens with it. No client can know
// of a higher limit before.
func (w *windows) followPlan() {
	i := len(w.minute) - w.perMinute
	if w.change.IsZero() || i < 0 {
		return
	}
	if opens := w.minute[i].Add(time.Minute); !opens.Before(w.change) {
		w.perMinute, w.change, w.changed = w.laterPlan, time.Time{}, opens
	}
}

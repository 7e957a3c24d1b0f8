package petstore

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// desk drives a budget by hand, one second after the other.
type desk struct {
	t   *testing.T
	now time.Time
	budget
}

func newDesk(t *testing.T) *desk { return &desk{t: t, now: time.Unix(1_000_000_020, 0)} }

func (d *desk) send() slot {
	d.t.Helper()
	s, w, ok := d.admit(d.now)
	require.True(d.t, ok, "%+v", w)
	return s
}

func (d *desk) blocked() wait {
	d.t.Helper()
	_, w, ok := d.admit(d.now)
	require.False(d.t, ok)
	return w
}

func (d *desk) answer(s slot, limit, remaining int, reset time.Time) {
	d.settle(s, Observation{
		Sent: d.now, Received: d.now, StatusCode: http.StatusOK, Date: d.now.Truncate(time.Second),
		RateLimit: RateLimit{limit, remaining, reset},
	}, d.now)
}

// open answers the cold start of a window that ends after a minute, and looks around.
func (d *desk) open(limit, remaining int) time.Time {
	reset := d.now.Add(time.Minute)
	d.answer(d.send(), limit, remaining+1, reset)
	d.answer(d.send(), limit, remaining, reset)
	return reset
}

func TestNoMoreAreOnTheirWayThanThereIsRoomFor(t *testing.T) {
	d := newDesk(t)
	d.open(10, 8)
	for range 8 {
		d.send()
	}
	assert.Equal(t, "in flight", d.blocked().reason)
}

func TestAnEarlierAnswerNeverRaisesWhatALaterOneLowered(t *testing.T) {
	d := newDesk(t)
	reset := d.open(10, 8)
	first, second := d.send(), d.send()
	d.answer(second, 10, 5, reset) // somebody else took one
	d.answer(first, 10, 7, reset)
	assert.Equal(t, 5, d.left())
}

func TestALostAnswerCountsAsSpentUntilALaterOneTells(t *testing.T) {
	d := newDesk(t)
	reset := d.open(10, 8)
	lost, kept := d.send(), d.send()
	d.settle(lost, Observation{Sent: d.now}, d.now)
	d.answer(kept, 10, 7, reset)
	assert.Equal(t, 6, d.left())
	d.answer(d.send(), 10, 6, reset) // the lost one may still be on its way
	assert.Equal(t, 5, d.left())
	d.now = d.now.Add(stray)
	d.answer(d.send(), 10, 5, reset) // it never arrived, or was counted
	assert.Equal(t, 5, d.left())
}

func TestAnUnsentRequestCostsNothing(t *testing.T) {
	d := newDesk(t)
	d.open(10, 8)
	d.settle(d.send(), Observation{}, d.now)
	assert.Equal(t, 8, d.left())
	assert.Zero(t, d.inFlight)
}

func TestAnAnswerWithoutHeadersWipesNothing(t *testing.T) {
	d := newDesk(t)
	reset := d.open(10, 8)
	d.settle(d.send(), Observation{Sent: d.now, Received: d.now, StatusCode: http.StatusBadGateway}, d.now)
	assert.Equal(t, RateLimit{10, 7, reset}, d.rateLimit())
}

func TestALateAnswerOfAnOldWindowIsIgnored(t *testing.T) {
	d := newDesk(t)
	old := d.open(10, 8)
	late := d.send()
	d.now = d.now.Add(70 * time.Second)
	d.answer(d.send(), 10, 9, d.now.Add(time.Minute))
	d.answer(late, 10, 0, old)
	assert.Equal(t, 9, d.left())
}

func TestAnUpgradeInsideAWindowIsFollowed(t *testing.T) {
	d := newDesk(t)
	reset := d.open(10, 8)
	d.answer(d.send(), 100, 97, reset)
	assert.Equal(t, 97, d.left())
}

func TestTheDayIsKnownByItsReset(t *testing.T) {
	d := newDesk(t)
	d.answer(d.send(), 1000, 0, d.now.Add(5*time.Hour))
	assert.Equal(t, "day", d.blocked().reason)
	d.now = d.now.Add(5*time.Hour + time.Second)
	assert.True(t, d.send().probe)
}

func TestASkewedClockMovesNoWindow(t *testing.T) {
	for _, skew := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
		d := newDesk(t)
		d.settle(d.send(), Observation{
			Sent: d.now, Received: d.now, StatusCode: http.StatusOK, Date: d.now.Add(skew),
			RateLimit: RateLimit{10, 0, d.now.Add(skew + 40*time.Second)},
		}, d.now)
		assert.Equal(t, 41*time.Second, d.blocked().until.Sub(d.now), "skew %v", skew)
	}
}

func TestAnAbsurdResetStandsForAMinute(t *testing.T) {
	d := newDesk(t)
	for _, reset := range []time.Time{{}, time.Unix(0, 0), d.now, time.UnixMilli(0).AddDate(50_000, 0, 0)} {
		d.budget = budget{}
		d.answer(d.send(), 10, 0, reset)
		assert.Equal(t, time.Minute, d.blocked().until.Sub(d.now), "Reset %v", reset)
	}
}

func TestAResetThatProvedEarlyIsNotTrustedToTheSecondAgain(t *testing.T) {
	d := newDesk(t)
	d.answer(d.send(), 10, 0, d.now.Add(30*time.Second))
	d.now = d.now.Add(31 * time.Second)
	d.settle(d.send(), Observation{
		Sent: d.now, Received: d.now, StatusCode: http.StatusTooManyRequests, RetryAfter: time.Second,
		RateLimit: RateLimit{10, 0, d.now}, Date: d.now,
	}, d.now)
	d.now = d.now.Add(time.Second)
	d.answer(d.send(), 10, 0, d.now.Add(30*time.Second))
	assert.Equal(t, 32*time.Second, d.blocked().until.Sub(d.now))
}

func TestAWindowWithoutAResetThatSlidesHasRoomAMinuteAfterItsOldestRequest(t *testing.T) {
	d := newDesk(t)
	reset := d.now.Add(-time.Hour)
	first := d.now
	for remaining := 2; remaining >= 0; remaining-- {
		d.answer(d.send(), 3, remaining, reset)
		d.now = d.now.Add(10 * time.Second)
	}
	assert.Equal(t, first.Add(time.Minute), d.blocked().until)
	d.now = first.Add(time.Minute)
	d.answer(d.send(), 3, 0, reset) // one has left the window, and this one come in
	assert.Equal(t, first.Add(70*time.Second), d.blocked().until)
}

func TestAMinuteOfTheClockEndsOnItsReset(t *testing.T) {
	d := newDesk(t)
	reset := d.now.Truncate(time.Minute).Add(time.Minute)
	d.now = reset.Add(-40 * time.Second) // the window is older than the request that opened it for us
	d.answer(d.send(), 10, 0, reset)
	assert.Equal(t, reset, d.blocked().until)
	d.now = reset
	d.answer(d.send(), 10, 0, reset.Add(time.Minute))
	assert.Equal(t, reset.Add(time.Minute), d.blocked().until)
}

func TestAWindowThatSomebodyIsUsingIsLookedAtAgainAfterAPause(t *testing.T) {
	d := newDesk(t)
	reset := d.now.Add(time.Minute)
	d.answer(d.send(), 60, 30, reset) // others may have all of the 30 on their way
	assert.Equal(t, d.now.Add(probePatience), d.blocked().wake)
	d.now = d.now.Add(probePatience)
	second := d.send()
	d.blocked()
	d.answer(second, 60, 20, reset)
	assert.True(t, d.crowded())
}

func TestAfterASilenceOneGoesFirst(t *testing.T) {
	d := newDesk(t)
	reset := d.open(60, 58)
	d.now = d.now.Add(quiet + time.Second)
	first := d.send()
	d.blocked()
	d.answer(first, 60, 1, reset) // somebody else has used the window meanwhile
	assert.Equal(t, 1, d.left())
}

func TestAWindowWithoutAResetRemembersNoMoreRequestsThanItAllows(t *testing.T) {
	d := newDesk(t)
	for range 100 { // of a service that does not count
		d.answer(d.send(), 3, 2, d.now.Add(-time.Hour))
	}
	assert.LessOrEqual(t, len(d.counted), 3)
}

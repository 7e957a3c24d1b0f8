package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

var midnight = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// evenLegs are n requests that take 10 ms to the service and 20 ms back.
func evenLegs(n int) []leg {
	legs := make([]leg, n)
	for i := range legs {
		legs[i] = leg{out: 10 * time.Millisecond, back: 20 * time.Millisecond}
	}
	return legs
}

func TestBound(t *testing.T) {
	const ms = time.Millisecond
	day := condition{dayWindows: 3}
	change := condition{planChange: 100 * time.Second}
	for _, tc := range []struct {
		name       string
		window     fake.Window
		perMinute  int
		goroutines int
		condition  condition
		phase      time.Duration
		requests   int
		want       time.Duration
	}{
		{"one request", fake.WindowFixed, 60, 8, condition{}, 0, 1, 30 * ms},
		{"one after the other", fake.WindowFixed, 60, 1, condition{}, 0, 60, 60 * 30 * ms},
		{"side by side", fake.WindowFixed, 60, 60, condition{}, 0, 60, 30 * ms},
		{"the window is over a minute after the second in which it began", fake.WindowFixed, 60, 60, condition{}, 700 * ms, 61, 59_300*ms + 20*ms},
		{"an aligned window is over at the full minute", fake.WindowAligned, 60, 60, condition{}, 15 * time.Second, 61, 45*time.Second + 20*ms},
		{"a sliding one has room when the first request is a minute old", fake.WindowSliding, 60, 60, condition{}, 700 * ms, 61, 59_300*ms + 20*ms},
		{"a sliding one gives back no more than was used in the second", fake.WindowSliding, 300, 1, condition{}, 0, 301 + 40, 61*time.Second + 20*ms + 7*30*ms},
		{"five windows", fake.WindowFixed, 60, 60, condition{}, 0, 5 * 60, 4*time.Minute + 20*ms},
		{"the last window one after the other", fake.WindowFixed, 60, 1, condition{}, 0, 120, time.Minute + 20*ms + 59*30*ms},
		{"a day of three windows", fake.WindowFixed, 60, 60, day, 0, 181, 24*time.Hour + 20*ms},
		{"a day by the clock", fake.WindowAligned, 60, 60, day, time.Hour, 181, 23*time.Hour + 20*ms},
		{"from 60 to 300", fake.WindowFixed, 60, 512, change, 0, 120 + 300 + 1, 3*time.Minute + 20*ms},
		{"from 300 to 60", fake.WindowFixed, 300, 512, change, 0, 600 + 60 + 1, 3*time.Minute + 20*ms},
		{"sliding from 300 to 60", fake.WindowSliding, 300, 512, change, 0, 600 + 60 + 1, 3*time.Minute + 20*ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := cell{condition: tc.condition, window: tc.window, perMinute: tc.perMinute, goroutines: tc.goroutines}
			got := c.bound(midnight.Add(tc.phase), evenLegs(tc.requests))
			assert.InDelta(t, tc.want.Seconds(), got.Seconds(), 0.011, "way out: 10 ms")
			assert.LessOrEqual(t, got, tc.want)
		})
	}
}

package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A burst that fits into the window takes at most three round trips longer than without a limiter,
// whatever the process did before.
func TestLimiterBursts(t *testing.T) {
	histories := []struct {
		calls   int
		pause   time.Duration // after each
		restart bool
	}{
		{}, {calls: 4, pause: time.Second / 2}, {calls: 4, pause: time.Second / 2, restart: true},
		{calls: 2, pause: 10 * time.Second}, {calls: 2, pause: 150 * time.Second},
	}
	for _, b := range []struct {
		perMinute, calls, goroutines int
		took                         time.Duration
	}{
		{300, 200, 200, 400 * time.Millisecond}, {60, 40, 40, 400 * time.Millisecond},
		{60, 55, 55, 100 * time.Millisecond}, {60, 48, 16, 300 * time.Millisecond},
		{1_000, 900, 512, 300 * time.Millisecond}, {60, 20, 20, 100 * time.Millisecond},
		{60, 50, 8, 900 * time.Millisecond}, {300, 250, 64, 200 * time.Millisecond},
		{300, 290, 290, 900 * time.Millisecond}, {1_000, 100, 100, 100 * time.Millisecond},
		{1_000, 900, 900, 900 * time.Millisecond}, {1_000, 800, 64, 100 * time.Millisecond},
	} {
		for i := range 3 * len(histories) {
			window, before := []windowKind{Fixed, Aligned, Sliding}[i%3], histories[i/3]
			test(t, fmt.Sprintf("%+v, %s, before: %+v", b, window, before), func(t *testing.T, l *limiter) {
				s := &Service{Clock: time.Now, PerMinute: b.perMinute}
				s.Window = window
				for range before.calls {
					l.permit().Release(carry(s, b.took))
					time.Sleep(before.pause)
				}
				if before.restart {
					l.Limiter = New()
				}
				start, rounds := time.Now(), (b.calls+b.goroutines-1)/b.goroutines
				var all sync.WaitGroup
				for g := range b.goroutines {
					all.Go(func() {
						for call := g; call < b.calls; call += b.goroutines {
							l.permit().Release(carry(s, b.took))
						}
					})
				}
				all.Wait()
				assert.LessOrEqual(t, time.Since(start), time.Duration(rounds+3)*b.took+time.Second/10)
				assert.Zero(t, s.Rejected)
			})
		}
	}
}

// Far from the limit no call waits for long. Programs use half of what the key allows for five
// minutes, at random times, with one call or ten at once. In some of the cases one response in
// fifty comes 25 s late.
func TestLoads(t *testing.T) {
	for i := range 3 * 3 * 3 * 2 * 2 {
		take := func(n int) int { defer func() { i /= n }(); return i % n }
		perMinute, programs := []int{60, 300, 1_000}[take(3)], []int{1, 2, 8}[take(3)]
		window := []windowKind{Fixed, Aligned, Sliding}[take(3)]
		batch, slow := []int{1, 10}[take(2)], []float64{0, 0.02}[take(2)]
		if batch*programs > perMinute {
			continue // together these programs may ask for too much at one time
		}
		const workers = 8 // so that a slow response does not keep the others from being asked for
		start := time.Unix(1_000_000_020, 0)
		every := 2 * time.Minute * time.Duration(workers*programs*batch) / time.Duration(perMinute)
		var all []*Process
		for range programs {
			all = append(all, &Process{Start: start, Workers: workers, Batch: batch, Every: every, CatchUp: true, Slow: slow})
		}
		s := &Service{PerMinute: perMinute}
		s.Window = window
		Run(s, rand.New(rand.NewPCG(9, 9)), all, start, start.Add(5*time.Minute))
		var waits []time.Duration
		for _, p := range all {
			waits = append(waits, p.Waits...)
		}
		slices.Sort(waits)
		name := fmt.Sprintf("%d programs, %d at once, %d a minute, %s, slow %v", programs, batch, perMinute, window, slow)
		most, longest := time.Duration(0), 300*time.Millisecond // a request takes 200 ms at most
		if batch > 1 {
			most = longest // the batches at the start are more than 1 % of all calls
		}
		if programs*batch > perMinute/4 {
			most, longest = 3*time.Second, 3*time.Second // two batches together may use up what is safe
		}
		assert.LessOrEqual(t, waits[len(waits)*99/100], most, "of 99 %%: %s", name)
		assert.LessOrEqual(t, waits[len(waits)-1], longest, name)
		assert.Zero(t, s.Rejected, name)
	}
}

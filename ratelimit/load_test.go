package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// histories is what a process did before a burst.
var histories = []struct {
	name    string
	calls   int
	pause   time.Duration // after each
	restart bool
}{
	{name: "cold"},
	{name: "busy", calls: 4, pause: 500 * time.Millisecond},
	{name: "restarted", calls: 4, pause: 500 * time.Millisecond, restart: true},
	{name: "quiet", calls: 2, pause: 10 * time.Second},
	{name: "idle", calls: 2, pause: 150 * time.Second},
}

// A burst that fits into the window takes at most three round trips longer than without a limiter.
func TestLimiterBursts(t *testing.T) {
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
		for _, window := range []windowKind{Fixed, Aligned, Sliding} {
			for _, before := range histories {
				name := fmt.Sprintf("%d on %d a minute, %s, %s, %v", b.calls, b.perMinute, window, before.name, b.took)
				test(t, name, func(t *testing.T, l *limiter) {
					s := newService(b.perMinute)
					s.Window = window
					one := func() {
						p, sent := l.permit(), time.Now()
						time.Sleep(b.took / 2)
						o := s.Answer()
						time.Sleep(b.took / 2)
						o.Sent, o.Received = sent, time.Now()
						p.Release(o)
					}
					for range before.calls {
						one()
						time.Sleep(before.pause)
					}
					if before.restart {
						l.Limiter = New()
					}
					start := time.Now()
					var all sync.WaitGroup
					for g := range b.goroutines {
						all.Go(func() {
							for range (b.calls - g + b.goroutines - 1) / b.goroutines {
								one()
							}
						})
					}
					all.Wait()
					unlimited := time.Duration((b.calls+b.goroutines-1)/b.goroutines) * b.took
					assert.LessOrEqual(t, time.Since(start), unlimited+3*b.took+100*time.Millisecond)
					assert.Zero(t, s.Rejected)
				})
			}
		}
	}
}

// Far from the limit no call waits for long. Programs use half of what the key allows for five
// minutes, at random times, with one call or ten at once. In some of the cases one response in
// fifty comes 25 s late.
func TestLimiterLoads(t *testing.T) {
	for _, perMinute := range []int{60, 300, 1_000} {
		for _, window := range []windowKind{Fixed, Aligned, Sliding} {
			for _, programs := range []int{1, 2, 8} {
				for _, batch := range []int{1, 10} {
					for _, slow := range []float64{0, 0.02} {
						if batch*programs > perMinute {
							continue // together these programs may ask for too much at one time
						}
						name := fmt.Sprintf("%d programs, %d at once, %d a minute, %s, slow %v", programs, batch, perMinute, window, slow)
						t.Run(name, func(t *testing.T) {
							synctest.Test(t, func(t *testing.T) {
								waits, rejected := load(t, perMinute, window, programs, batch, slow)
								p99, longest := 150*time.Millisecond, 250*time.Millisecond
								if batch == 10 && perMinute == 60 { // the ten calls are a sixth of the window
									p99, longest = 400*time.Millisecond, 500*time.Millisecond
								}
								if slow > 0 { // at a cold start, a slow response holds the others up for a second
									longest = 1300 * time.Millisecond
								}
								if programs*(batch-1)*100 > perMinute*5/2 || batch == 10 && perMinute == 60 && slow > 0 {
									p99 = longest // the calls at the start are more than 1 % of all
								}
								assert.LessOrEqual(t, waits[len(waits)*99/100], p99)
								assert.LessOrEqual(t, waits[len(waits)-1], longest)
								assert.Zero(t, rejected)
							})
						})
					}
				}
			}
		}
	}
}

// load returns the waits of all calls, in order of their length, and the number of 429s.
func load(t *testing.T, perMinute int, window windowKind, programs, batch int, slow float64) ([]time.Duration, int) {
	s := newService(perMinute)
	s.Window = window
	end := time.Now().Add(5 * time.Minute)
	every := float64(time.Minute) * 2 * float64(programs*batch) / float64(perMinute)
	var mu sync.Mutex
	var waits []time.Duration
	var all sync.WaitGroup
	for p := range programs {
		l := New()
		rng := rand.New(rand.NewPCG(9, uint64(p)))
		one := func(rng *rand.Rand) {
			start := time.Now()
			permit, err := l.Acquire(t.Context(), Request{MaxWait: time.Hour})
			assert.NoError(t, err)
			mu.Lock()
			waits = append(waits, time.Since(start))
			mu.Unlock()
			o := carry(s, rng)
			if o.StatusCode == http.StatusOK && rng.Float64() < slow {
				time.Sleep(25 * time.Second)
				o.Received = time.Now()
			}
			permit.Release(o)
		}
		all.Go(func() {
			for i := uint64(0); ; i++ {
				time.Sleep(time.Duration((0.5 + rng.Float64()) * every))
				if time.Now().After(end) {
					return
				}
				for b := range batch {
					all.Go(func() { one(rand.New(rand.NewPCG(i, uint64(p*100+b)))) })
				}
			}
		})
	}
	all.Wait()
	slices.Sort(waits)
	return waits, s.Rejected
}

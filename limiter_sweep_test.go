package petstore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cell is one job in one world, and what the limiter must show in it.
type cell struct {
	name       string
	kind       windowKind
	limit      int
	goroutines int // of each client
	clients    int // unaware of each other, 0: one
	requests   int
	network    network
	setup      func(*service)
	changed    int // limit from 100 s on, 0: the same
	foreign    bool
	rejections int     // allowed in a window
	bans       int     // allowed
	most       float64 // ratio allowed, 0: any
	seed       uint64
}

func (c cell) String() string {
	return fmt.Sprintf("%s/%s/%d/%d", c.name, c.kind, c.limit, c.goroutines)
}

// outcome is what became of the job.
type outcome struct {
	rejected, worst, bans int // worst: rejections in one window
	ratio                 float64
}

const planChange = 100 * time.Second

// least is the least time in which the window rule lets n requests be done from start on, when each
// takes the mean latency. A window has the limit of its beginning.
func (c cell) least(start time.Time, n int) time.Duration {
	workers := max(1, c.clients) * c.goroutines
	rate := float64(workers) / c.network.mean().Seconds()
	now, end := start, start.Add(time.Minute)
	switch c.kind {
	case windowFixed:
		end = start.Truncate(time.Second).Add(time.Minute)
	case windowAligned:
		end = start.Truncate(time.Minute).Add(time.Minute)
	}
	for {
		limit := c.limit
		if c.changed > 0 && now.Sub(start) >= planChange {
			limit = c.changed
		}
		fit := min(n, limit, max(1, int(end.Sub(now).Seconds()*rate)))
		if n -= fit; n == 0 {
			rounds := math.Ceil(float64(fit) / float64(workers))
			return now.Sub(start) + time.Duration(rounds)*c.network.mean()
		}
		now, end = end, end.Add(time.Minute)
	}
}

// run does the job and waits for its end.
func (c cell) run(t *testing.T) (out outcome) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(c.seed, 1))
		// In the first part of a minute: the end of one is too short for a look around.
		time.Sleep(time.Duration(rng.IntN(10))*time.Minute + time.Duration(rng.Int64N(int64(30*time.Second))))
		s := newService(c.kind, c.limit)
		s.banAfter = 3
		if c.setup != nil {
			c.setup(s)
		}
		start, done := time.Now(), make(chan struct{})
		if c.changed > 0 {
			time.AfterFunc(planChange, func() { s.setLimit(c.changed) })
		}
		if c.foreign {
			go interfere(s, done)
		}
		c.work(t, s, rng)
		makespan := time.Since(start)
		close(done)
		synctest.Wait()
		least := c.least(start.Add(s.skew), s.served)
		out = outcome{s.rejected, s.worst, s.bans, float64(makespan) / float64(least)}
	})
	return out
}

// work is the clients' part: all goroutines of all clients take requests from one heap.
func (c cell) work(t *testing.T, s *service, rng *rand.Rand) {
	var taken atomic.Int64
	var all sync.WaitGroup
	var limiters []*limiter
	for client := range max(1, c.clients) {
		l := NewLimiter().(*limiter)
		limiters = append(limiters, l)
		late := time.Duration(client) * time.Duration(rng.Int64N(int64(3*time.Second)))
		for g := range c.goroutines {
			rng := rand.New(rand.NewPCG(c.seed, uint64(2+g+client*c.goroutines)))
			all.Go(func() {
				time.Sleep(late)
				for taken.Add(1) <= int64(c.requests) {
					assert.True(t, ask(l, s, c.network, rng))
				}
			})
		}
	}
	all.Wait()
	for _, l := range limiters {
		assertAtRest(t, l)
	}
}

// interfere is somebody else on the key, who sends one request every two seconds, until the service
// refuses.
func interfere(s *service, done chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(2 * time.Second):
			if s.room() > 0 {
				s.answer()
			}
		}
	}
}

// ask makes one call as a client does: with its place, and again after a 429 or a loss.
func ask(l Limiter, s *service, n network, rng *rand.Rand) bool {
	ctx := callIn(context.Background())
	for {
		p, err := l.Acquire(ctx, 30*time.Minute)
		if err != nil {
			return false
		}
		o := n.carry(s, rng)
		p.Release(o)
		if !o.Received.IsZero() && o.StatusCode != http.StatusTooManyRequests {
			return true
		}
	}
}

// assertAtRest checks that nothing is left of the calls that are over.
func assertAtRest(t *testing.T, l *limiter) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Zero(t, l.budget.inFlight, "in flight")
	assert.Zero(t, l.budget.probes, "probes")
	assert.Zero(t, l.line.Len(), "waiting")
	assert.Nil(t, l.timer, "timer")
}

// TestLimiterReachesItsFigures runs a part of the table, a few seeds each. PETSTORE_SWEEP is a regular
// expression of cells to run and print instead, "." for all; PETSTORE_SEEDS is how many seeds.
func TestLimiterReachesItsFigures(t *testing.T) {
	sweep := os.Getenv("PETSTORE_SWEEP")
	wanted, err := regexp.Compile(cmp.Or(sweep, `/(60/1|60/64|60/32|300/8|300/4)$`))
	require.NoError(t, err)
	usual := "10"
	if racing {
		usual = "1" // races are what it is about then
	}
	seeds, err := strconv.ParseUint(cmp.Or(os.Getenv("PETSTORE_SEEDS"), usual), 10, 64)
	require.NoError(t, err)
	for _, c := range cells() {
		if wanted.MatchString(c.String()) {
			t.Run(c.String(), func(t *testing.T) { c.check(t, seeds, sweep != "") })
		}
	}
}

func (c cell) check(t *testing.T, seeds uint64, show bool) {
	var all, worst outcome
	for c.seed = range seeds {
		o := c.run(t)
		worst.rejected = max(worst.rejected, o.rejected)
		worst.worst = max(worst.worst, o.worst)
		worst.bans = max(worst.bans, o.bans)
		worst.ratio = max(worst.ratio, o.ratio)
		all.ratio += o.ratio
	}
	mean := all.ratio / float64(seeds)
	if show {
		fmt.Printf("%-26s rejected %2d (%d a window) bans %d ratio %.3f worst %.3f\n",
			c, worst.rejected, worst.worst, worst.bans, mean, worst.ratio)
	}
	assert.LessOrEqual(t, worst.worst, c.rejections, "rejections in a window")
	assert.LessOrEqual(t, worst.bans, c.bans, "bans")
	if c.most > 0 && !racing {
		assert.LessOrEqual(t, mean, c.most, "makespan over the bound")
	}
}

// cells is the whole table.
func cells() []cell {
	fixed, sliding := []windowKind{windowFixed, windowAligned}, []windowKind{windowSliding}
	every := []windowKind{windowFixed, windowAligned, windowSliding}
	var all []cell
	add := func(kinds []windowKind, base cell) { all = append(all, spread(kinds, base)...) }
	with := func(name string, most float64, setup func(*service)) cell {
		return cell{name: name, most: most, setup: setup}
	}
	reset := func(lie func(now, reset time.Time) time.Time) func(*service) {
		return func(s *service) { s.lieReset = lie }
	}

	add(fixed, cell{name: "plain", most: 1.01})
	add(sliding, cell{name: "plain", most: 1.06})
	add(fixed, with("ahead", 1.01, func(s *service) { s.skew = 10*time.Minute + 300*time.Millisecond }))
	add(fixed, with("behind", 1.01, func(s *service) { s.skew = -10*time.Minute - 700*time.Millisecond }))
	add(fixed, with("httpdate", 1.01, func(s *service) { s.dateRetryAfter = true }))
	add(fixed, with("nodate", 1.01, func(s *service) { s.noDate = true }))
	add(fixed, cell{name: "slow", most: 1.13, network: network{latency: time.Second, jitter: 2 * time.Second}})
	add(fixed, cell{name: "plan-up", most: 1.01, changed: 900})
	// What is on its way when the limit falls is rejected.
	add(fixed, cell{name: "plan-down", changed: 40, rejections: 8, bans: 1})
	add(every, cell{name: "lossy", most: 1.06, network: network{20 * time.Millisecond, 180 * time.Millisecond, .01, .02}})
	add(every[:1], with("reset-past", 1.02, reset(func(now, _ time.Time) time.Time { return now.Add(-time.Hour) })))
	add(every[:1], with("reset-now", 1.02, reset(func(now, _ time.Time) time.Time { return now.Truncate(time.Second) })))
	add(every[:1], with("reset-millis", 1.02, reset(func(_, r time.Time) time.Time { return time.Unix(r.UnixMilli(), 0) })))
	add(every[1:], with("reset-past", 1.12, reset(func(now, _ time.Time) time.Time { return now.Add(-time.Hour) })))
	add(fixed, cell{name: "bare", rejections: 2, setup: func(s *service) { s.noHeaders = true }})
	add(sliding, cell{name: "bare", rejections: 4, setup: func(s *service) { s.noHeaders = true }})
	add(fixed, cell{name: "two", rejections: 2, clients: 2})
	// Requests come free one by one, and who has the next one on its way the headers do not tell.
	add(sliding, cell{name: "two", rejections: 12, bans: 1, clients: 2})
	add(every, cell{name: "foreign", rejections: 2, foreign: true})
	return all
}

// spread is a cell for each kind of window, plan and number of goroutines.
func spread(kinds []windowKind, c cell) (all []cell) {
	if c.network == (network{}) {
		c.network = usual()
	}
	for _, c.kind = range kinds {
		for _, c.limit = range []int{60, 300, 1000} {
			for _, g := range []int{1, 8, 64, 512} {
				c.goroutines = max(1, g/max(1, c.clients))
				c.requests = 4 * c.limit
				if c.most == 1.06 && c.kind == windowSliding && c.limit == 1000 {
					c := c
					c.most = 1.15
					all = append(all, c)
					continue
				}
				all = append(all, c)
			}
		}
	}
	return all
}

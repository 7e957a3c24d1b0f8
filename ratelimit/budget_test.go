package ratelimit

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// FuzzBudget lets a process use a service under random conditions, in which responses and requests
// overtake each other.
func FuzzBudget(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 7))
		s := &Service{
			Window:    []windowKind{Fixed, Aligned, Sliding, Drained}[random.IntN(4)],
			PerMinute: 5 + random.IntN(60), PerDay: 200 + random.IntN(2000),
		}
		if random.IntN(2) == 0 {
			s.Skew = time.Duration(random.Int64N(int64(20*time.Minute))) - 10*time.Minute
		}
		start := time.Unix(1_000_000_000+random.Int64N(1e6), random.Int64N(1e9))
		p := &Process{Workers: 1 + random.IntN(12), Start: start}
		all, honest := []*Process{p}, false
		switch random.IntN(4) {
		case 0:
			all = append(all, &Process{Workers: 3, Every: 5 * time.Second, Heedless: true})
		case 1:
			s.NoDate, s.Skew = true, 0
			s.Bare = random.IntN(2)
		default:
			honest = true
		}
		// Without the response to the first request, it is not known when a sliding window has room
		// again.
		p.Fails = !honest || s.Window == Fixed || s.Window == Aligned
		Run(s, random, all, start, start.Add(20*time.Minute))
		assert.Zero(t, p.Early, "requests before the end of a lockout, or together after a 429")
		least := 10
		if honest {
			most := 0
			if s.day.left() == 0 {
				most = 1 // the headers show only the minute if it is used up at the same time
			}
			assert.LessOrEqual(t, s.Rejected, most, "429s")
			windows := 17 // of 20
			if s.Window == Drained {
				windows = 8 // when its Reset comes, it has been empty for nearly a minute
			}
			least = min(windows*s.PerMinute, s.PerDay*9/10)
		}
		assert.GreaterOrEqual(t, p.Done, least, "calls that succeeded")
	})
}

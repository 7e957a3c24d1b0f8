package queue

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/quota"
)

func TestLimiterKeys(t *testing.T) {
	t.Run("a key that rotated does not inherit the ban of the old one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			p, refused := l.Acquire(t.Context(), Call{KeyID: "old"})
			require.Nil(t, refused)
			p.Release(tooMany(60, 0, time.Minute, time.Hour))
			_, refused = l.Acquire(t.Context(), Call{KeyID: "old"})
			assert.NotNil(t, refused)
			p, refused = l.Acquire(t.Context(), Call{KeyID: "new"})
			require.Nil(t, refused)
			p.Release(ok(60, 59, time.Minute))
			assert.Equal(t, 59, l.RateLimit("new").Remaining)
		})
	})
	t.Run("budgets without useful knowledge are dropped", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			for range 10 * manyKeys {
				p, refused := l.Acquire(t.Context(), Call{KeyID: time.Now().String()})
				require.Nil(t, refused)
				p.Release(ok(60, 59, time.Minute))
				time.Sleep(2 * time.Minute)
			}
			assert.LessOrEqual(t, len(l.keys), manyKeys)
		})
	})
}

func TestLimiterOutsideACall(t *testing.T) {
	for _, handFirst := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			if handFirst {
				one(t, l, ok(2, 1, time.Minute))
			}
			p, refused := l.Acquire(t.Context(), Call{KeyID: "key"})
			require.Nil(t, refused)
			p.Release(ok(2, 0, time.Minute))
			_, refused = acquire(t.Context(), l, 0)
			assert.NotNil(t, refused)
			assert.Len(t, l.keys, 1, "there is one budget")
		})
	}
}

func TestLimiterReopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		one(t, l, tooMany(60, 0, time.Minute, 24*time.Hour))
		_, refused := acquire(t.Context(), l, time.Hour)
		require.NotNil(t, refused)
		l.Reopen("other")
		_, refused = acquire(t.Context(), l, time.Hour)
		require.NotNil(t, refused)
		l.Reopen("")
		one(t, l, ok(60, 59, time.Minute))
		one(t, l, ok(60, 58, time.Minute))
	})
}

func TestLimiterBackground(t *testing.T) {
	t.Run("a read does not wait behind queued creates", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter(quota.Budget{Processes: 1, Reserve: 10})
			s := newService(60)
			var all sync.WaitGroup
			for range 300 {
				all.Go(func() {
					p, refused := l.Acquire(t.Context(), Call{Background: true, MaxWait: time.Hour})
					if assert.Nil(t, refused) {
						p.Release(carry(s, rand.New(rand.NewPCG(6, 6))))
					}
				})
			}
			time.Sleep(90 * time.Second)
			start := time.Now()
			p, refused := acquire(t.Context(), l, 0)
			require.Nil(t, refused)
			p.Release(&quota.Observation{})
			assert.Equal(t, start, time.Now())
			all.Wait()
			assert.Zero(t, s.Rejected())
		})
	})
	t.Run("one request in ten is for calls that waited a minute", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter(quota.Budget{Processes: 1, Reserve: 10})
			s := newService(60)
			stop := time.Now().Add(5 * time.Minute)
			var all sync.WaitGroup
			work := func(inBackground bool, count *int) {
				for time.Now().Before(stop) {
					p, refused := l.Acquire(t.Context(), Call{Background: inBackground, MaxWait: time.Hour})
					if !assert.Nil(t, refused) {
						return
					}
					*count++
					p.Release(carry(s, rand.New(rand.NewPCG(6, uint64(*count)))))
				}
			}
			counts := make([]int, 101)
			for g := range 100 {
				all.Go(func() { work(false, &counts[g]) })
			}
			time.Sleep(time.Millisecond)
			all.Go(func() { work(true, &counts[100]) })
			all.Wait()
			assert.Positive(t, counts[100], "it is not starved")
			assert.Zero(t, s.Rejected())
		})
	})
}

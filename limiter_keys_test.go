package petstore

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// callOfKey returns the context of a foreground or background call with a key.
func callOfKey(ctx context.Context, keyID string, background bool) context.Context {
	k := &call{client: &Client{}, operation: listPets, config: &callConfig{background: background}}
	k.keyID.Store(&keyID)
	k.ctx = callContext{ctx, k}
	return &k.ctx
}

func TestLimiterKeys(t *testing.T) {
	t.Run("a key that rotated does not inherit the ban of the old one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter()
			p, err := l.Acquire(callOfKey(t.Context(), "old", false), 0)
			require.NoError(t, err)
			p.Release(tooMany(60, 0, time.Minute, time.Hour))
			_, err = l.Acquire(callOfKey(t.Context(), "old", false), 0)
			_ = refused(t, err)
			p, err = l.Acquire(callOfKey(t.Context(), "new", false), 0)
			require.NoError(t, err)
			p.Release(ok(60, 59, time.Minute))
			assert.Equal(t, 59, l.RateLimit().Remaining)
		})
	})
	t.Run("budgets without useful knowledge are dropped", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter().(*limiter)
			for range 10 * manyKeys {
				p, err := l.Acquire(callOfKey(t.Context(), time.Now().String(), false), 0)
				require.NoError(t, err)
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
			l := NewLimiter()
			ctx := callOfKey(t.Context(), "key", false)
			if handFirst {
				one(t, l, ok(60, 1, time.Minute))
			}
			p, err := l.Acquire(ctx, 0)
			require.NoError(t, err)
			p.Release(ok(60, 0, time.Minute))
			_, err = l.Acquire(t.Context(), 0)
			_ = refused(t, err)
			assert.Len(t, l.(*limiter).keys, 1, "there is one budget")
		})
	}
}

func TestLimiterReopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter()
		one(t, l, tooMany(60, 0, time.Minute, 24*time.Hour))
		_, err := l.Acquire(t.Context(), time.Hour)
		_ = refused(t, err)
		l.(Reopener).Reopen("")
		one(t, l, ok(60, 59, time.Minute))
		one(t, l, ok(60, 58, time.Minute))
	})
}

func TestLimiterBackground(t *testing.T) {
	t.Run("a read does not wait behind queued creates", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter(Processes(1))
			s := newService(60)
			var all sync.WaitGroup
			for range 300 {
				all.Go(func() {
					p, err := l.Acquire(callOfKey(t.Context(), "", true), time.Hour)
					if assert.NoError(t, err) {
						o := s.Answer()
						now := time.Now()
						p.Release(Observation{
							Sent: now, Received: now, StatusCode: o.StatusCode, RateLimit: RateLimit(o.RateLimit), Date: o.Date,
						})
					}
				})
			}
			time.Sleep(90 * time.Second)
			start := time.Now()
			p, err := l.Acquire(t.Context(), 0)
			require.NoError(t, err)
			p.Release(Observation{})
			assert.Equal(t, start, time.Now())
			all.Wait()
			assert.Zero(t, s.Rejected())
		})
	})
	t.Run("one request in ten is for calls that waited a minute", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter(Processes(1))
			s := newService(60)
			stop := time.Now().Add(5 * time.Minute)
			var all sync.WaitGroup
			work := func(ctx context.Context, count *int) {
				for time.Now().Before(stop) {
					p, err := l.Acquire(ctx, time.Hour)
					if !assert.NoError(t, err) {
						return
					}
					*count++
					o := s.Answer()
					sent := time.Now()
					time.Sleep(time.Millisecond)
					p.Release(Observation{
						Sent: sent, Received: time.Now(), StatusCode: o.StatusCode, RateLimit: RateLimit(o.RateLimit), Date: o.Date,
					})
				}
			}
			counts := make([]int, 101)
			for g := range 100 {
				all.Go(func() { work(callOfKey(t.Context(), "", false), &counts[g]) })
			}
			time.Sleep(time.Millisecond)
			all.Go(func() { work(callOfKey(t.Context(), "", true), &counts[100]) })
			all.Wait()
			assert.Positive(t, counts[100], "it is not starved")
			assert.Zero(t, s.Rejected())
		})
	})
}

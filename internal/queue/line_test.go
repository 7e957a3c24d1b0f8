package queue

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/quota"
)

func TestLine(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var l line
	var want []*waiter
	for i := range 2000 {
		if n := len(want); n > 0 && random.IntN(5) < 2 {
			w := want[random.IntN(n)]
			assert.True(t, l.remove(w))
			assert.False(t, l.remove(w), "a second time")
			want = slices.DeleteFunc(want, func(other *waiter) bool { return other == w })
		} else {
			w := &waiter{asked: time.Unix(random.Int64N(100), 0), order: uint64(i)}
			l.insert(w)
			want = append(want, w)
		}
		slices.SortFunc(want, (*waiter).before)
		require.Equal(t, want, []*waiter(l))
	}
}

// The first calls of many keys, and many calls that wait, end in seconds: none looks at all others.
func TestLimiterMany(t *testing.T) {
	t.Run("keys", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			for i := range 20_000 {
				p, refused := l.Acquire(t.Context(), Call{KeyID: string(rune(i))})
				require.Nil(t, refused)
				p.Release(ok(60, 59, time.Minute))
			}
		})
	})
	t.Run("waiters that asked in any order", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const n = 20_000
			l := NewLimiter(quota.Budget{Processes: 1})
			one(t, l, ok(2, 0, time.Minute))
			asked := time.Now()
			random := rand.New(rand.NewPCG(1, 1))
			var mu sync.Mutex
			var got []int
			var all sync.WaitGroup
			for range n {
				i := random.IntN(n)
				all.Go(func() {
					at := asked.Add(time.Duration(i))
					p, refused := l.Acquire(t.Context(), Call{Asked: at, MaxWait: 1 << 60})
					if assert.Nil(t, refused) {
						mu.Lock()
						defer mu.Unlock()
						got = append(got, i)
						p.Release(ok(n, n-1-len(got), time.Minute))
					}
				})
				if i%100 == 0 {
					synctest.Wait()
				}
			}
			all.Wait()
			assert.Len(t, got, n)
		})
	})
}

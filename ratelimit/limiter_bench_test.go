package ratelimit

import (
	"sync"
	"testing"
	"time"
)

// BenchmarkLimiter measures what a permit costs: without a queue, and with 100,000 requests in it,
// each of which gets a permit.
func BenchmarkLimiter(b *testing.B) {
	b.Run("uncontended", func(b *testing.B) {
		l := New()
		o := ok(1_000_000, 999_999, time.Hour)
		b.ReportAllocs()
		for b.Loop() {
			p, err := l.Acquire(b.Context(), Request{Key: "key", MaxWait: time.Minute})
			if err != nil {
				b.Fatal(err)
			}
			p.Release(o)
		}
	})
	b.Run("waiters=100000", func(b *testing.B) {
		const waiters = 100_000
		b.ReportAllocs()
		for b.Loop() {
			l, start := New(Processes(1)), time.Now()
			// The clock stands still: after a second without a response, more would be admitted.
			l.now = func() time.Time { return start }
			first, err := l.Acquire(b.Context(), Request{})
			if err != nil {
				b.Fatal(err)
			}
			var all, waiting sync.WaitGroup
			waiting.Add(waiters)
			r := Request{MaxWait: time.Hour, Observer: observer{start: func(Wait) { waiting.Done() }}}
			o := ok(1_000_000, 999_999, time.Hour)
			for range waiters {
				all.Go(func() {
					p, err := l.Acquire(b.Context(), r)
					if err != nil {
						b.Error(err)
						return
					}
					p.Release(o)
				})
			}
			waiting.Wait()
			first.Release(o)
			all.Wait()
		}
	})
}

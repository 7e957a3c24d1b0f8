package petstore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLimiterAllocations(t *testing.T) {
	l := NewLimiter()
	ctx := callIn(t.Context())
	now := time.Now()
	o := Observation{
		Sent: now, Received: now, StatusCode: 200,
		RateLimit: RateLimit{1000, 999, now.Add(time.Hour)}, Date: now.Truncate(time.Second),
	}
	allocs := testing.AllocsPerRun(1000, func() {
		p, err := l.Acquire(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		p.Release(o)
	})
	assert.LessOrEqual(t, allocs, 1.0)
}

func BenchmarkUncontended(b *testing.B) {
	l := NewLimiter()
	ctx := callIn(b.Context())
	now := time.Now()
	o := Observation{
		Sent: now, Received: now, StatusCode: 200,
		RateLimit: RateLimit{1000, 999, now.Add(time.Hour)}, Date: now.Truncate(time.Second),
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := l.Acquire(ctx, time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		p.Release(o)
	}
}

// Benchmark512Goroutines has 512 goroutines of which 400 may have a request in flight.
func Benchmark512Goroutines(b *testing.B) {
	l := NewLimiter(Processes(1))
	now := time.Now()
	o := Observation{
		Sent: now, Received: now, StatusCode: 200,
		RateLimit: RateLimit{401, 400, now.Add(time.Hour)}, Date: now.Truncate(time.Second),
	}
	b.SetParallelism(256)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, err := l.Acquire(b.Context(), 2*time.Hour)
			if err != nil {
				b.Error(err)
				return
			}
			p.Release(o)
		}
	})
}

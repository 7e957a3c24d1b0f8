package petstoreredis_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

const (
	fleetSize  = 8
	goroutines = 4 // of each
	// window is the shortest in which the second by which Reset may be rounded down is small, and
	// which no rule takes for one that slides.
	window  = 45 * time.Second
	latency = 150 * time.Millisecond
	// late is how much longer than its bound a run may take. It takes 1.03 to 1.04 times as long,
	// most of it the second by which Reset is rounded, where two cores are free for these
	// processes, and more where they are not.
	late = 1.1
)

func newService(t *testing.T, perMinute int) *fake.Server {
	t.Helper()
	return fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(perMinute, 0)), fake.WithMinute(window),
		fake.WithBan(5, time.Hour), fake.WithLatency(latency))
}

func (s *redisServer) job(service *fake.Server, requests int) job {
	return job{
		Redis: []string{s.address}, Service: service.URL(), Requests: requests, Goroutines: goroutines,
		Lease: 2 * time.Second,
	}
}

// makespan returns the time from the first request to the response to the last one, and the least
// time that the windows allow for as many requests. The second window begins at the Reset of the
// first response.
func makespan(t *testing.T, service *fake.Server, limit int) (span, bound time.Duration) {
	t.Helper()
	requests := service.Requests()
	first, last := requests[0], requests[len(requests)-1]
	span = last.Time.Add(last.Duration).Sub(first.Time)
	reset, err := strconv.ParseInt(first.ResponseHeader.Get("X-RateLimit-Reset"), 10, 64)
	require.NoError(t, err)
	rest := len(requests) - limit
	rounds := (rest + goroutines*fleetSize - 1) / (goroutines * fleetSize)
	return span, time.Unix(reset, 0).Sub(first.Time) + time.Duration(rounds)*latency
}

func TestOnRedisEightProcessesShareAKey(t *testing.T) {
	t.Parallel()
	server, service := newRedisServer(t), newService(t, 300)
	workers := hire(t, fleetSize, server.job(service, 45))
	begin(workers)
	for _, w := range workers {
		assert.Equal(t, 45, w.result(t).Done)
	}
	assert.Zero(t, service.Usage(service.APIKey()).Limited, "rejections")
	span, bound := makespan(t, service, 300)
	assert.LessOrEqual(t, span.Seconds(), late*bound.Seconds())
	t.Logf("360 requests at 300 a window of %s: %.1f s, %.3f of the bound, %.2f round trips to Redis for each",
		window, span.Seconds(), span.Seconds()/bound.Seconds(), server.trips(t, 360))
}

func TestOnRedisKilledWorkersCostOneLease(t *testing.T) {
	t.Parallel()
	server, service := newRedisServer(t), newService(t, 300)
	j := server.job(service, 64)
	workers := hire(t, fleetSize, j)
	begin(workers)
	require.Eventually(t, func() bool { return service.Usage(service.APIKey()).Minute > 100 }, 20*time.Second,
		10*time.Millisecond)
	for _, w := range workers[:2] {
		w.kill()
	}
	for _, w := range workers[2:] {
		assert.Equal(t, 64, w.result(t).Done)
	}
	assert.Zero(t, service.Usage(service.APIKey()).Limited, "rejections")
	span, bound := makespan(t, service, 300)
	assert.LessOrEqual(t, span.Seconds(), late*bound.Seconds()+j.Lease.Seconds())
	t.Logf("%d requests, two of eight workers killed: %.1f s, %.3f of the bound", len(service.Requests()),
		span.Seconds(), span.Seconds()/bound.Seconds())
}

func TestOnRedisThatIsStoppedAndStarted(t *testing.T) {
	t.Parallel()
	server, service := newRedisServer(t), newService(t, 300)
	workers := hire(t, fleetSize, server.job(service, 60))
	begin(workers)
	require.Eventually(t, func() bool { return service.Usage(service.APIKey()).Minute > 100 }, 20*time.Second,
		10*time.Millisecond)
	server.stop()
	logged := func(what string) func() bool {
		return func() bool {
			for _, w := range workers {
				if !strings.Contains(w.errors.String(), what) {
					return false
				}
			}
			return true
		}
	}
	require.Eventually(t, logged("redis is away"), 20*time.Second, 20*time.Millisecond)
	server.start(t)
	for _, w := range workers {
		r := w.result(t)
		assert.Equal(t, 60, r.Done)
		assert.False(t, r.Stats.Away, "at the end")
		assert.Equal(t, 1, strings.Count(w.errors.String(), "redis is away"))
	}
	usage := service.Usage(service.APIKey())
	assert.LessOrEqual(t, usage.Limited, 4, "rejections")
	assert.Zero(t, usage.BannedUntil)
	span, bound := makespan(t, service, 300)
	assert.LessOrEqual(t, span, bound+window, "it has recovered within a window")
	t.Logf("480 requests, Redis stopped and started: %.1f s, %d rejections", span.Seconds(), usage.Limited)
}

func TestOnRedisRoundTripsOfEightProcessesAreFew(t *testing.T) {
	t.Parallel()
	server, service := newRedisServer(t), newService(t, 1000)
	j := server.job(service, 110)
	j.Goroutines = 8
	workers := hire(t, fleetSize, j)
	begin(workers)
	for _, w := range workers {
		assert.Equal(t, 110, w.result(t).Done)
	}
	assert.Zero(t, service.Usage(service.APIKey()).Limited, "rejections")
	trips := server.trips(t, 880)
	assert.LessOrEqual(t, trips, 0.2)
	t.Logf("880 requests at 1000 a window: %.3f round trips to Redis for each", trips)
}

// TestOnRedisColdStart is the beginning of some rows of the table, for a run that has no twenty
// minutes.
func TestOnRedisColdStart(t *testing.T) {
	for _, r := range []row{slow(32, 1, 60, 3*time.Second), slow(32, 4, 300, 3*time.Second)} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, r)
			f.hire(r.processes)
			f.start = time.Now()
			begin(f.workers)
			r.during(f)
			f.at(20 * time.Second)
			for len(f.workers) > 0 {
				f.dismiss(0)
			}
			usage := f.service.Usage(f.service.APIKey())
			assert.LessOrEqual(t, usage.Limited, 2, "429s")
			assert.Zero(t, usage.BannedUntil)
			assert.Equal(t, r.limit, usage.Minute, "the window is used up")
		})
	}
}

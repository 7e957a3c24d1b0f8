package petstoreredis_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/petstoreredis"
)

// logInto returns the option that has a Limiter log into b.
func logInto(b *bytes.Buffer) petstoreredis.Option {
	return petstoreredis.WithLogger(slog.New(slog.NewTextHandler(b, nil)))
}

// lines returns what has been logged since the last time.
func lines(b *bytes.Buffer) []string {
	synctest.Wait()
	defer b.Reset()
	return strings.Split(strings.TrimSpace(b.String()), "\n")
}

// use makes a call a second for d, and requires that none fails.
func use(t *testing.T, client *petstore.Client, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
		_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
		require.NoError(t, err)
	}
}

func TestLimiter_goesOnWithoutRedisAndComesBackWithinSeconds(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		var log bytes.Buffer
		service, l := newService(t, 300), r.process(t, logInto(&log))
		client := service.Client(petstore.WithLimiter(l))
		use(t, client, 30*time.Second)
		assert.Equal(t, []string{""}, lines(&log))
		for _, outage := range []time.Duration{12 * time.Second, 12 * time.Second, 70 * time.Second} {
			r.broken.Store(true)
			use(t, client, outage)
			away := lines(&log)
			require.Len(t, away, 1)
			assert.Contains(t, away[0], `level=WARN msg="petstoreredis: redis is away, this process keeps to its share"`)
			assert.Contains(t, away[0], "connection refused", "the error of Redis")
			assert.Contains(t, away[0], "name="+l.Stats().Name)
			assert.True(t, l.Stats().Away)
			r.broken.Store(false)
			use(t, client, 3*time.Second)
			back := lines(&log)
			require.Len(t, back, 1)
			assert.Contains(t, back[0], `level=INFO msg="petstoreredis: redis is back"`)
			assert.False(t, l.Stats().Away)
			use(t, client, 12*time.Second)
		}
		assert.Equal(t, 3, l.Stats().Fallbacks)
		assert.InDelta(t, 94, l.Stats().AwayFor.Seconds(), 8)
		assert.Zero(t, service.Usage(service.APIKey()).Limited)
	})
}

func TestLimiter_anOutageOfAnHourIsFewLines(t *testing.T) {
	for name, outage := range map[string]func(r *virtualRedis, on bool){
		"refused":    func(r *virtualRedis, on bool) { r.broken.Store(on) },
		"no replies": func(r *virtualRedis, on bool) { r.silent.Store(on) },
		"flapping":   func(r *virtualRedis, on bool) { r.broken.Store(on && time.Now().Second()%10 < 5) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *virtualRedis) {
				var log bytes.Buffer
				service := newService(t, 300)
				client := service.Client(petstore.WithLimiter(r.process(t, logInto(&log))))
				use(t, client, 10*time.Second)
				for end := time.Now().Add(time.Hour); time.Now().Before(end); {
					outage(r, true)
					use(t, client, time.Second)
				}
				outage(r, false)
				use(t, client, 10*time.Second)
				all := lines(&log)
				assert.NotEmpty(t, all[0])
				assert.LessOrEqual(t, len(all), 20)
			})
		})
	}
}

// Something else than the script replies: an error, nonsense, or that there is nothing, again and
// again. Calls are neither held up nor let through without a limit.
func TestLimiterAcquire_repliesThatAreNotOfTheScript(t *testing.T) {
	for name, reply := range map[string]string{
		"full":             "-OOM command not allowed when used memory > 'maxmemory'.",
		"no rights":        "-NOPERM this user has no permissions to run the 'evalsha' command",
		"not JSON":         "+OK",
		"no pot":           "+{}",
		"too many permits": `+{"window":1,"granted":99,"ends_in":60000}`,
		"years":            `+{"window":1,"ends_in":99999999999999}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *virtualRedis) {
				r.reply(reply)
				var log bytes.Buffer
				service := newService(t, 300)
				client := service.Client(petstore.WithLimiter(r.process(t, logInto(&log))))
				start := time.Now()
				use(t, client, 30*time.Second)
				assert.Less(t, time.Since(start), 32*time.Second)
				line := lines(&log)[0]
				if text, isError := strings.CutPrefix(reply, "-"); isError {
					assert.Contains(t, line, text)
				} else {
					assert.Contains(t, line, "the reply is not one of the script")
				}
			})
		})
	}
}

func TestLimiterAcquire_repliesThatSayNothingCountAgainstMaxWait(t *testing.T) {
	for name, reply := range map[string]string{
		"all permits are out": `+{"window":1,"remaining":1,"out":1,"reset":1,"limit":60,"ends_in":60000,"processes":1}`,
		"nothing":             `+{"window":1,"ends_in":60000}`,
		"hold":                `+{"window":1,"remaining":9,"reset":1,"hold":1000,"ends_in":60000}`,
		"negative":            `+{"window":1,"remaining":9,"reset":1,"ends_in":-1000}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *virtualRedis) {
				r.reply(reply)
				for _, wait := range []time.Duration{0, time.Minute} {
					start := time.Now()
					_, err := r.process(t).Acquire(t.Context(), petstore.LimitRequest{MaxWait: wait})
					require.ErrorIs(t, err, petstore.ErrRateLimited)
					require.ErrorIs(t, err, petstore.ErrNotSent)
					assert.LessOrEqual(t, time.Since(start), wait+11*time.Second)
				}
				assert.Less(t, r.CommandCount(), 2000, "it does not ask in a hot loop")
			})
		})
	}
}

// reply has all scripts get that reply.
func (r *virtualRedis) reply(text string) {
	r.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
		if !strings.HasPrefix(strings.ToUpper(cmd), "EVAL") {
			return false
		}
		if message, isError := strings.CutPrefix(text, "-"); isError {
			c.WriteError(message)
		} else {
			c.WriteBulk(text[1:])
		}
		return true
	})
}

func TestLimiterReopen_withoutRedis(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		r.broken.Store(true)
		l := r.process(t)
		acquire(t, l).Release(answered(http.StatusTooManyRequests, petstore.RateLimit{}, time.Hour))
		refused(t, l, petstore.LimitRequest{MaxWait: time.Minute})
		l.Reopen("")
		start := time.Now()
		acquire(t, l)
		assert.Less(t, time.Since(start), time.Second)
	})
}

func TestLimiterAcquire_waitsEndWhenRedisIsBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		r.broken.Store(true)
		a, b := r.process(t, petstoreredis.WithShare(1)), r.process(t)
		acquire(t, a) // of its own limiter
		probe := acquire(t, a)
		waiting := waitFor(t, a)
		require.Empty(t, waiting)
		r.broken.Store(false)
		open(t, b, 60, 50)
		start := time.Now()
		(<-waiting).Release(petstore.Observation{})
		assert.Less(t, time.Since(start), 2*time.Second)
		probe.Release(answered(http.StatusOK, left(60, 0, time.Minute), 0))
		require.NoError(t, a.Flush(t.Context()))
		_, err := b.Acquire(t.Context(), petstore.LimitRequest{MaxWait: time.Second})
		require.ErrorIs(t, err, petstore.ErrRateLimited)
	})
}

func TestLimiterFlush(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l := r.process(t)
		require.NoError(t, l.Flush(t.Context()), "there is nothing to tell")
		open(t, l, 60, 1)
		for _, unused := range []petstore.Observation{{}, {Delivery: petstore.DeliveryNotSent, Received: time.Now()}} {
			p := acquire(t, l)
			p.Release(unused)
			p.Release(unused) // has no effect
			require.NoError(t, l.Flush(t.Context()))
			assert.Zero(t, l.Stats().Held+l.Stats().InFlight)
			assert.Equal(t, "0", r.HGet(r.Keys()[0], "out"))
		}
		acquire(t, l).Release(answered(http.StatusOK, left(60, 0, time.Minute), 0))
		r.silent.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, l.Flush(ctx), context.DeadlineExceeded)
		require.ErrorContains(t, l.Flush(t.Context()), "no reply within 2s")
		r.silent.Store(false)
		time.Sleep(10 * time.Second)
	})
}

func TestLimiter_metrics(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		reader := metric.NewManualReader()
		l := r.process(t, petstoreredis.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))))
		open(t, l, 60, 50)
		values := collect(t, reader)
		assert.Len(t, values, 6)
		assert.Positive(t, values["petstore.redis.round_trips"])
		assert.Zero(t, values["petstore.redis.away"])
		assert.EqualValues(t, 1, values["petstore.redis.processes"])
		r.broken.Store(true)
		waitFor(t, l)
		time.Sleep(10 * time.Second)
		values = collect(t, reader)
		assert.EqualValues(t, 1, values["petstore.redis.away"])
		r.broken.Store(false)
		time.Sleep(5 * time.Second)
	})
}

// collect returns the values of all metrics by their names.
func collect(t *testing.T, reader metric.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	values := map[string]int64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			values[m.Name] = data.DataPoints[0].Value
		case metricdata.Gauge[int64]:
			values[m.Name] = data.DataPoints[0].Value
		}
	}
	return values
}

package petstoreredis

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// The databases of a Redis in memory: the one in use, and a copy of it.
const current, saved = 0, 1

// base begins the names of the keys of newTestLimiter.
const base = "petstore:{2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683}:2:"

// copyState copies one database to another. From saved to current, that is what a Redis does that has
// an earlier state on disk, or a replica that had not got all.
func (r *testRedis) copyState(t *testing.T, from, to int) {
	t.Helper()
	rdb := r.newClient(t, &redis.Options{DB: from, Protocol: 2, DisableIdentity: true}, func() error { return nil })
	r.DB(to).FlushDB()
	for _, key := range r.DB(from).Keys() {
		require.NoError(t, rdb.Copy(t.Context(), key, key, to, true).Err())
	}
}

func TestLimiterAcquire_olderStateIsNotBelieved(t *testing.T) {
	for _, limit := range []int{60, 300} {
		bubble(t, func(t *testing.T, r *testRedis) {
			r.setLatency(time.Millisecond)
			server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(limit, 0)), fake.WithBan(5, time.Hour),
				fake.WithLatency(20*time.Millisecond))
			var clients []*petstore.Client
			for range 2 {
				clients = append(clients, server.Client(petstore.WithLimiter(newTestLimiter(t, r)), petstore.WithMaxWait(2*time.Second)))
			}
			list := func(i int) error {
				_, err := clients[i%2].ListPets(t.Context(), petstore.ListPetsParams{})
				return err
			}
			for i := range 10 {
				require.NoError(t, list(i))
			}
			elapse(time.Second)
			r.copyState(t, current, saved)
			for i := range limit {
				_ = list(i)
			}
			require.Equal(t, limit, server.Usage(server.APIKey()).Minute)
			r.copyState(t, saved, current)
			for i := range 60 { // each has Redis asked a few times
				_ = list(i)
				elapse(500 * time.Millisecond)
			}
			assert.Zero(t, server.Usage(server.APIKey()).Limited, "429s")
			elapse(time.Minute)
			assert.NoError(t, list(0))
			elapse(time.Minute)
		})
	}
}

func TestLimiterAcquire_redisThatHasLostTheClosureLearnsIt(t *testing.T) {
	for _, older := range []bool{false, true} {
		bubble(t, func(t *testing.T, r *testRedis) {
			a, b := newTestLimiter(t, r), newTestLimiter(t, r)
			end := open(t, a, 100, 40)
			assert.NotNil(t, acquire(t, b))
			if older {
				r.copyState(t, current, saved)
			}
			o := reject(t, a, end, time.Hour)
			r.copyState(t, saved, current)
			elapse(askEvery)
			assertRefused(t, a) // asks Redis, and reports
			synctest.Wait()
			limited := assertRefused(t, newTestLimiter(t, r))
			assert.Equal(t, petstore.ScopeBan, limited.Scope)
			assert.WithinDuration(t, o.Received.Add(time.Hour), limited.RetryAt, time.Second)
		})
	}
}

func TestLimiterAcquire_flushedRedisAndRestartedProcessesOpenTheKeyForAll(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(300, 0)))
		var clients []*petstore.Client
		add := func() { clients = append(clients, server.Client(petstore.WithLimiter(newTestLimiter(t, r)))) }
		for range 6 {
			add()
		}
		server.BanKey(server.APIKey(), 24*time.Hour)
		failed := 0
		for i := range 6 {
			if list(t, clients[i]) != nil {
				failed++
			}
			synctest.Wait()
		}
		require.Equal(t, 6, failed)
		elapse(5 * time.Second)
		server.BanKey(server.APIKey(), 0)
		r.FlushAll()
		add()
		add()
		failed = 0
		for range 60 {
			for i := range 8 {
				if list(t, clients[7-i]) != nil {
					failed++
				}
				synctest.Wait()
			}
			elapse(time.Second)
		}
		assert.LessOrEqual(t, failed, 6*10, "each asks within ten seconds")
		elapse(time.Minute)
	})
}

func TestLimiterAcquire_junkInRedisIsBegunAfresh(t *testing.T) {
	kinds := map[string]func(r *testRedis){
		"a key of the wrong type": func(r *testRedis) { r.Del(base + "leases"); _ = r.Set(base+"leases", "x") },
		"a process": func(r *testRedis) {
			fields, _ := r.HKeys(base + "held")
			r.HSet(base+"held", fields[0], "junk")
		},
	}
	for _, text := range []string{"junk", "{}", "[]", "1", "null", `{"parties":1}`, "\xff\x00"} {
		kinds["state "+text] = func(r *testRedis) { _ = r.Set(base+"state", text) }
	}
	for _, field := range []string{`"rtt":"a"`, `"reset":{}`, `"outstanding":-100000`, `"outstanding":100000`} {
		name, _, _ := strings.Cut(field, ":")
		kinds[field] = func(r *testRedis) {
			text, _ := r.Get(base + "state")
			_ = r.Set(base+"state", strings.Replace(text, name+":", field+`,"was":`, 1))
		}
	}
	// In the others, the Redis in memory finds no state, or a sum that is corrected later.
	unsound := []string{
		"a key of the wrong type", "state {}", "state []", "state 1", `state {"parties":1}`, `"rtt":"a"`, `"reset":{}`,
	}
	for name, put := range kinds {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *testRedis) {
				r.setLatency(time.Millisecond)
				server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(60, 0)), fake.WithBan(5, time.Hour),
					fake.WithLatency(20*time.Millisecond))
				logger, text := newLog()
				l := newTestLimiter(t, r, WithLogger(logger))
				client := server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour))
				start := time.Now()
				for i := range 100 {
					if i == 10 {
						require.True(t, r.Exists(base+"state"))
						put(r)
					}
					require.NoError(t, list(t, client))
				}
				assert.Zero(t, server.Usage(server.APIKey()).Limited, "429s")
				stats := l.Stats()
				assert.Zero(t, stats.Fallbacks)
				assert.Equal(t, slices.Contains(unsound, name), stats.Repairs == 1, "%d repairs", stats.Repairs)
				assert.Less(t, time.Since(start), 70*time.Second)
				elapse(time.Minute)
				assert.Equal(t, stats.Repairs, strings.Count(text.String(), "begun afresh"))
				assert.Equal(t, stats.Repairs, strings.Count(text.String(), "name="+stats.Name))
			})
		})
	}
}

func TestLimiterAcquire_shortWindowIsNotTakenForSliding(t *testing.T) {
	for _, minute := range []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute} {
		t.Run(minute.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *testRedis) {
				r.setLatency(time.Millisecond)
				server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(60, 0)), fake.WithMinute(minute),
					fake.WithLatency(20*time.Millisecond), fake.WithStrict())
				client := server.Client(petstore.WithLimiter(newTestLimiter(t, r)), petstore.WithMaxWait(time.Hour))
				start := time.Now()
				for range 200 { // three windows and a part
					require.NoError(t, list(t, client))
				}
				took := time.Since(start)
				elapse(time.Second)
				text, err := r.Get(base + "state")
				require.NoError(t, err)
				assert.NotContains(t, text, `"slides":true`)
				assert.Less(t, took, 3*minute+6*time.Second)
				elapse(time.Minute)
			})
		})
	}
}

package petstoreredis

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// DistantConn is a connection to a Redis far away. Before runs before each command, and breaks the
// connection if it fails.
type DistantConn struct {
	net.Conn

	Before func() error
}

// Write implements net.Conn.
func (c DistantConn) Write(b []byte) (int, error) {
	if err := c.Before(); err != nil {
		_ = c.Close()
		return 0, err
	}
	return c.Conn.Write(b)
}

// distantClient returns a client of r with the options that go-redis has by default.
func distantClient(t *testing.T, r *testRedis, chance func() float64) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{
		Addr: "distant:6379",
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			pause(50 * time.Millisecond)
			near, far := net.Pipe()
			go r.serve(far)
			return DistantConn{near, func() error {
				pause(50 * time.Millisecond) // the whole round trip
				if chance() < 0.01 {
					return io.ErrClosedPipe
				}
				return nil
			}}, nil
		},
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func TestWithTimeout_defaultSuitsDistantRedis(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRedis) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(300, 0)), fake.WithBan(5, time.Hour),
			fake.WithLatency(100*time.Millisecond), fake.WithJournal(0))
		rng, mu := rand.New(rand.NewPCG(5, 1)), sync.Mutex{}
		chance := func() float64 {
			mu.Lock()
			defer mu.Unlock()
			return rng.Float64()
		}
		logger, text := newLog()
		var limiters []*Limiter
		var group sync.WaitGroup
		start := time.Now()
		for range 8 {
			l, err := NewLimiter(distantClient(t, r, chance), "key", WithLogger(logger))
			require.NoError(t, err)
			limiters = append(limiters, l)
			client := server.Client(petstore.WithLimiter(l), petstore.WithMaxWait(time.Hour))
			for range 4 {
				group.Go(func() {
					for range 20 { // 640 in all: two windows and a bit
						_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
						assert.NoError(t, err)
					}
				})
			}
		}
		group.Wait()
		took := time.Since(start)
		fallbacks := 0
		for _, l := range limiters {
			fallbacks += l.Stats().Fallbacks
		}
		lines := strings.Count(text.String(), "\n")
		limited := server.Usage(server.APIKey()).Limited
		t.Logf("640 calls on 300 a minute in %s: %d 429s, %d fallbacks, %d log lines", took, limited, fallbacks, lines)
		assert.LessOrEqual(t, limited, 2)
		assert.LessOrEqual(t, fallbacks, 2)
		assert.Less(t, took, 130*time.Second)
		elapse(2 * time.Minute)
	})
}

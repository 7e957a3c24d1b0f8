package petstoreredis_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

// sentinelMaster is the name that Sentinel has for the master.
const sentinelMaster = "petstore"

// sentinel is a Sentinel that watches a master with one replica.
type sentinel struct {
	*redisServer
	master, replica *redisServer
}

func newSentinel(t *testing.T) *sentinel {
	t.Helper()
	master := newRedisServer(t)
	s := &sentinel{redisServer: makeRedisServer(t), master: master}
	s.replica = newRedisServer(t, "--replicaof", "127.0.0.1 "+master.port(t))
	require.Eventually(t, func() bool {
		text, err := s.replica.client(t).Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(text, "master_link_status:up")
	}, 30*time.Second, 100*time.Millisecond)
	file := filepath.Join(t.TempDir(), "sentinel.conf") // Sentinel writes to it
	text := fmt.Sprintf(`port %s
bind 127.0.0.1
sentinel monitor %[2]s 127.0.0.1 %s 1
sentinel down-after-milliseconds %[2]s 1000
sentinel failover-timeout %[2]s 5000
`, s.port(t), sentinelMaster, master.port(t))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	s.args = []string{file, "--sentinel"}
	s.start(t)
	sentinels := redis.NewSentinelClient(&redis.Options{Addr: s.address})
	t.Cleanup(func() { _ = sentinels.Close() })
	require.Eventually(t, func() bool { // Sentinel asks the master every ten seconds for its replicas
		found, err := sentinels.Replicas(t.Context(), sentinelMaster).Result()
		return err == nil && len(found) == 1 && found[0]["master-link-status"] == "ok"
	}, 90*time.Second, 100*time.Millisecond)
	return s
}

// client returns a client that finds the master.
func (s *sentinel) client(t *testing.T) redis.UniversalClient {
	t.Helper()
	rdb := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: sentinelMaster, SentinelAddrs: []string{s.address}})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// lag has the replica get no more of what the master is told: it cannot log in any more.
func (s *sentinel) lag(t testing.TB) {
	t.Helper()
	s.replica.do(t, "config", "set", "masteruser", "nobody", "masterauth", "none")
	s.master.do(t, "client", "kill", "type", "replica")
}

// cluster is three masters without replicas.
type cluster []*redisServer

func newCluster(t *testing.T) cluster {
	t.Helper()
	const slots = 16384
	var c cluster
	for i := range 3 {
		bus := makeRedisServer(t) // the default is the port + 10000, which may be more than there are
		s := newRedisServer(t, "--cluster-enabled", "yes", "--cluster-port", bus.port(t))
		s.do(t, "cluster", "addslotsrange", slots*i/3, slots*(i+1)/3-1)
		s.do(t, "cluster", "set-config-epoch", i+1)
		if i > 0 {
			c[0].do(t, "cluster", "meet", "127.0.0.1", s.port(t), bus.port(t))
		}
		c = append(c, s)
	}
	for _, s := range c {
		rdb := s.client(t)
		require.Eventually(t, func() bool {
			info, err := rdb.ClusterInfo(t.Context()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3")
		}, 30*time.Second, 50*time.Millisecond)
	}
	return c
}

// client returns a client with the least rights.
func (c cluster) client(t *testing.T) redis.UniversalClient {
	t.Helper()
	for _, s := range c {
		s.do(t, append(leastRights(t), "+cluster|slots")...)
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{c[0].address}, Username: "petstore", Password: "secret",
	})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// pair is two limiters of one name, each with its own client of Redis, and the service that they
// use.
type pair struct {
	service  *fake.Server
	limiters [2]*petstoreredis.Limiter
	clients  [2]*petstore.Client
}

func newPair(t *testing.T, name string, limit int, client func(t *testing.T) redis.UniversalClient) *pair {
	t.Helper()
	p := &pair{service: fake.NewServer(fake.WithPlan(fake.Enterprise(limit, 0)), fake.WithBan(5, time.Hour))}
	t.Cleanup(p.service.Close)
	for i := range p.limiters {
		var err error
		p.limiters[i], err = petstoreredis.NewLimiter(client(t), name)
		require.NoError(t, err)
		p.clients[i] = p.service.Client(petstore.WithLimiter(p.limiters[i]), petstore.WithMaxWait(time.Hour))
	}
	return p
}

// list has both send requests from four goroutines each, n in all, and returns how many succeeded
// before ctx ended.
func (p *pair) list(ctx context.Context, n int) int {
	var left, done atomic.Int64
	left.Store(int64(n))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := p.clients[i%2].ListPets(ctx, petstore.ListPetsParams{}); err == nil {
					done.Add(1)
				}
			}
		})
	}
	group.Wait()
	return int(done.Load())
}

func TestOnRedisCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, name := range []string{"one key", "another", "a third", "a fourth", "a fifth", "a sixth"} {
		p := newPair(t, name, 60, c.client)
		assert.Equal(t, 60, p.list(t.Context(), 60), name)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		assert.Zero(t, p.list(ctx, 8), name)
		cancel()
		assert.Zero(t, p.service.Usage(p.service.APIKey()).Limited, "429s")
		for _, l := range p.limiters {
			require.NoError(t, l.Flush(t.Context()))
			assert.Zero(t, l.Stats().Fallbacks)
		}
	}
	for _, s := range c {
		keys, err := s.client(t).DBSize(t.Context()).Result()
		require.NoError(t, err)
		assert.NotZero(t, keys, "the names are spread over all nodes")
	}
}

func TestOnRedisSentinel(t *testing.T) {
	t.Parallel()
	s := newSentinel(t)
	p := newPair(t, "the fleet's key", 60, s.client)
	require.Equal(t, 20, p.list(t.Context(), 20))
	for _, l := range p.limiters {
		require.NoError(t, l.Flush(t.Context()))
	}
	s.lag(t)
	require.Equal(t, 38, p.list(t.Context(), 38))
	s.master.stop()

	// The replica has room for forty requests. The service has it for two, and both processes want
	// more.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan int)
	go func() { over <- p.list(ctx, 60) }()
	assert.Eventually(t, func() bool {
		for _, l := range p.limiters {
			if stats := l.Stats(); stats.Fallbacks == 0 || stats.Away {
				return false
			}
		}
		return true
	}, 25*time.Second, 50*time.Millisecond, "both are back")
	wait(t.Context(), 3*time.Second) // for what they have been given to arrive
	cancel()
	assert.LessOrEqual(t, <-over, 2)
	assert.Zero(t, p.service.Usage(p.service.APIKey()).Limited, "429s")
	role, err := s.replica.client(t).Do(t.Context(), "role").Slice()
	require.NoError(t, err)
	assert.Equal(t, "master", role[0])
}

package petstoreredis_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestOnRedisCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	rdb := c.client(t)
	for _, name := range []string{"one key", "another", "a third", "a fourth", "a fifth", "a sixth"} {
		useUp(t, rdb, name)
	}
	for _, s := range c {
		keys, err := s.client(t).DBSize(t.Context()).Result()
		require.NoError(t, err)
		assert.NotZero(t, keys, "the names are spread over all nodes")
	}
}

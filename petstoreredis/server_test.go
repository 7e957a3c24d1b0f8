package petstoreredis_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// The tests named OnRedis run on a real Redis, in real time. They look for redis-server on the
// path; PETSTORE_REDIS_SERVER names another one, or a Valkey, and then a test fails that cannot
// run.

// redisServer is a Redis on loopback. It writes to disk when it is told to SAVE, and not otherwise.
type redisServer struct {
	program, address string
	args             []string
	cmd              *exec.Cmd
}

// newRedisServer starts a Redis with arguments beyond those that all have.
func newRedisServer(t testing.TB, args ...string) *redisServer {
	t.Helper()
	s := makeRedisServer(t)
	s.args = append([]string{
		"--port", s.port(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(),
	}, args...)
	s.start(t)
	return s
}

// makeRedisServer chooses the program and a port, and starts nothing.
func makeRedisServer(t testing.TB) *redisServer {
	t.Helper()
	if testing.Short() {
		t.Skip("takes half a minute of real time")
	}
	program := os.Getenv("PETSTORE_REDIS_SERVER")
	if program == "" {
		var err error
		if program, err = exec.LookPath("redis-server"); err != nil {
			t.Skip("there is no redis-server on the path: this test needs one")
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	s := &redisServer{program: program, address: listener.Addr().String()}
	t.Cleanup(s.stop)
	return s
}

func (s *redisServer) port() string { return s.address[strings.LastIndex(s.address, ":")+1:] }

// start starts it, also again after stop: with what SAVE wrote last, or empty.
func (s *redisServer) start(t testing.TB) {
	t.Helper()
	s.cmd = exec.Command(s.program, s.args...)
	require.NoError(t, s.cmd.Start())
	rdb := s.client(t)
	require.Eventually(t, func() bool { return rdb.Ping(t.Context()).Err() == nil }, 10*time.Second, 20*time.Millisecond)
}

// stop kills it: it has no time to write anything.
func (s *redisServer) stop() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// signal sends a signal such as STOP by the program kill, which every Unix has, so that this
// compiles elsewhere.
func signal(t testing.TB, p *os.Process, name string) {
	t.Helper()
	require.NoError(t, exec.Command("kill", "-"+name, strconv.Itoa(p.Pid)).Run())
}

// client returns a client with all rights.
func (s *redisServer) client(t testing.TB) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: s.address})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// do runs one command with all rights.
func (s *redisServer) do(t testing.TB, words ...any) {
	t.Helper()
	require.NoError(t, s.client(t).Do(t.Context(), words...).Err(), "%v", words[0])
}

// sentinelMaster is the name that Sentinel has for the master.
const sentinelMaster = "petstore"

// sentinel is a Sentinel that watches a master with one replica.
type sentinel struct {
	*redisServer
	master, replica *redisServer
}

func newSentinel(t testing.TB) *sentinel {
	t.Helper()
	master := newRedisServer(t)
	s := &sentinel{redisServer: makeRedisServer(t), master: master}
	s.replica = newRedisServer(t, "--replicaof", "127.0.0.1 "+master.port())
	file := filepath.Join(t.TempDir(), "sentinel.conf") // Sentinel writes to it
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\nsentinel monitor %[2]s 127.0.0.1 %s 1\n"+
		"sentinel down-after-milliseconds %[2]s 1000\nsentinel failover-timeout %[2]s 5000\n",
		s.port(), sentinelMaster, master.port())
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

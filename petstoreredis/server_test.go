package petstoreredis_test

import (
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"strconv"
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
	tls              *tls.Config // of its administrator, nil for plain TCP
	cmd              *exec.Cmd
}

// newRedisServer starts a Redis with arguments beyond those that all have.
func newRedisServer(t testing.TB, args ...string) *redisServer {
	t.Helper()
	s := makeRedisServer(t)
	s.args = append([]string{
		"--port", s.port(t), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(),
	}, args...)
	s.start(t)
	return s
}

// makeRedisServer chooses the program, a port and a folder, and starts nothing.
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
	s := &redisServer{program: program, address: freeAddress(t)}
	t.Cleanup(s.stop)
	return s
}

// freeAddress returns an address on loopback that nobody listens on.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

func (s *redisServer) port(t testing.TB) string {
	t.Helper()
	_, port, err := net.SplitHostPort(s.address)
	require.NoError(t, err)
	return port
}

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
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// signal sends a signal such as STOP by the program kill, which every Unix has, so that this
// compiles elsewhere.
func (s *redisServer) signal(t testing.TB, name string) {
	t.Helper()
	require.NoError(t, exec.Command("kill", "-"+name, strconv.Itoa(s.cmd.Process.Pid)).Run())
}

// client returns a client with all rights.
func (s *redisServer) client(t testing.TB) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: s.address, TLSConfig: s.tls})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// do runs one command with all rights.
func (s *redisServer) do(t testing.TB, words ...any) {
	t.Helper()
	require.NoError(t, s.client(t).Do(t.Context(), words...).Err(), "%v", words[0])
}

package petstoreredis_test

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/petstoreredis"
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
	port := freePort(t)
	s := &redisServer{program: program, address: "127.0.0.1:" + port, args: append([]string{
		"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(),
	}, args...)}
	t.Cleanup(s.stop)
	s.start(t)
	return s
}

// freePort returns a port that nobody uses now.
func freePort(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port
}

// start starts it, also again after stop: with what SAVE wrote last, or empty.
func (s *redisServer) start(t testing.TB) {
	t.Helper()
	s.cmd = exec.Command(s.program, s.args...)
	require.NoError(t, s.cmd.Start())
	rdb := s.client(t)
	require.Eventually(t, func() bool { return rdb.Ping(t.Context()).Err() == nil }, time.Minute, 20*time.Millisecond)
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

// limiter returns the limiter of a process.
func (s *redisServer) limiter(t testing.TB, opts ...petstoreredis.Option) *petstoreredis.Limiter {
	t.Helper()
	l, err := petstoreredis.NewLimiter(s.client(t), opts...)
	require.NoError(t, err)
	return l
}

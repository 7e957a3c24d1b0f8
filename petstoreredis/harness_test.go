package petstoreredis_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

func TestMain(m *testing.M) {
	logging.Disable() // of go-redis, which writes to standard error
	goleak.VerifyTestMain(m)
}

// virtualRedis is a miniredis whose clock is that of the bubble.
type virtualRedis struct {
	*miniredis.Miniredis
	link
}

// bubble runs a test in virtual time with a Redis. A goroutine that waits for miniredis does not
// wait for time, so that a command takes only the latency.
func bubble(t *testing.T, f func(t *testing.T, r *virtualRedis)) {
	t.Helper()
	r := &virtualRedis{Miniredis: miniredis.RunT(t)}
	synctest.Test(t, func(t *testing.T) {
		r.before = r.tick
		f(t, r)
	})
}

// tick sets the clock of the Redis.
func (r *virtualRedis) tick() { r.SetTime(time.Now()) }

// process returns the limiter of a process.
func (r *virtualRedis) process(t *testing.T, opts ...petstoreredis.Option) *petstoreredis.Limiter {
	t.Helper()
	l, err := petstoreredis.NewLimiter(newClient(t, r.Addr(), &r.link), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { // what is on its way ends with the bubble
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = l.Flush(ctx)
	})
	return l
}

// newService returns a service with a limit per minute, which bans keys.
func newService(t *testing.T, limit int) *fake.Server {
	t.Helper()
	return fake.NewTestServer(t, fake.WithPlan(fake.Plan{PerMinute: limit}), fake.WithBan(5, time.Hour))
}

// link is the way to a Redis or to the service, which may be long, slow or broken.
type link struct {
	latency atomic.Int64 // of a command or request
	drops   int          // of a hundred commands, those that break their connection
	broken  atomic.Bool  // connections are refused and break
	silent  atomic.Bool  // nothing gets through
	before  func()       // each command; nil for nothing
}

var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

// pass waits until a command gets through.
func (k *link) pass() error {
	time.Sleep(time.Duration(k.latency.Load()))
	for k.silent.Load() {
		time.Sleep(100 * time.Millisecond)
	}
	if k.broken.Load() || rand.IntN(100) < k.drops {
		return errRefused
	}
	return nil
}

// dial is the Dialer of a client of Redis.
func (k *link) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if k.broken.Load() {
		return nil, errRefused
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return linkConn{conn, k}, err
}

type linkConn struct {
	net.Conn
	link *link
}

func (c linkConn) Write(b []byte) (int, error) {
	if c.link.pass() != nil {
		_ = c.Close()
		return 0, io.EOF
	}
	if c.link.before != nil {
		c.link.before()
	}
	return c.Conn.Write(b)
}

// transport is a transport over a link, on which a request takes 20 to 200 ms.
type transport struct {
	http.RoundTripper
	link *link
}

const meanLatency = 110 * time.Millisecond

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	half := 10*time.Millisecond + rand.N(90*time.Millisecond)
	time.Sleep(half)
	if err := t.link.pass(); err != nil {
		return nil, err
	}
	resp, err := t.RoundTripper.RoundTrip(r)
	time.Sleep(half)
	return resp, err
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

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

// freePort returns a port that nobody uses now, below those that systems give to connections: a
// Redis that is away for a while must find it free.
func freePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(10_000 + rand.IntN(20_000))
		if listener, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			require.NoError(t, listener.Close())
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// start starts it, also again after stop: with what SAVE wrote last, or empty.
func (s *redisServer) start(t testing.TB) {
	t.Helper()
	s.cmd = exec.Command(s.program, s.args...)
	require.NoError(t, s.cmd.Start())
	rdb := s.client(t, &link{})
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

// client returns a client with all rights, over a link.
func (s *redisServer) client(t testing.TB, k *link) *redis.Client {
	t.Helper()
	return newClient(t, s.address, k)
}

func newClient(t testing.TB, address string, k *link) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: address, Dialer: k.dial})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// do runs one command with all rights.
func (s *redisServer) do(t testing.TB, words ...any) {
	t.Helper()
	require.NoError(t, s.client(t, &link{}).Do(t.Context(), words...).Err(), "%v", words[0])
}

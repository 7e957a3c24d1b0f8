package petstoreredis_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

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
	ahead   atomic.Int64 // how far its clock is ahead
	forgets atomic.Bool  // before each command it drops all pots
}

func newVirtualRedis(t *testing.T) *virtualRedis {
	t.Helper()
	r := &virtualRedis{Miniredis: miniredis.RunT(t)}
	r.before = func() {
		r.SetTime(time.Now().Add(time.Duration(r.ahead.Load())))
		if r.forgets.Load() {
			r.FlushAll()
		}
	}
	return r
}

// bubble runs a test in virtual time with a Redis. While a goroutine waits for miniredis, the time
// of the bubble stands still, so that a command takes no longer than the latency of its link.
func bubble(t *testing.T, f func(t *testing.T, r *virtualRedis)) {
	t.Helper()
	r := newVirtualRedis(t)
	synctest.Test(t, func(t *testing.T) { f(t, r) })
}

func (r *virtualRedis) process(t *testing.T, opts ...petstoreredis.Option) *petstoreredis.Limiter {
	t.Helper()
	l, err := petstoreredis.NewLimiter(newClient(t, r.Addr(), &r.link), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { // commands on their way must end before the bubble
		r.repair()
		time.Sleep(10 * time.Second)
	})
	return l
}

func (r *virtualRedis) repair() {
	r.broken.Store(false)
	r.silent.Store(false)
	r.forgets.Store(false)
	r.SetError("")
}

// link is the connection to a Redis, which may be slow or broken.
type link struct {
	latency atomic.Int64 // of a command
	evals   atomic.Int64 // commands that ran the script
	drops   int          // percentage of commands that break their connection
	broken  atomic.Bool  // connections are refused and break
	silent  atomic.Bool  // nothing gets through
	lost    atomic.Bool  // the next reply is lost, and its connection breaks
	cut     atomic.Bool  // the next command is lost, and its connection breaks
	before  func()       // called before each command; may be nil
}

func (k *link) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if k.broken.Load() {
		return nil, errors.New("connection refused")
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return linkConn{conn, k}, err
}

type linkConn struct {
	net.Conn
	link *link
}

func (c linkConn) Write(b []byte) (int, error) {
	time.Sleep(time.Duration(c.link.latency.Load()))
	for c.link.silent.Load() {
		time.Sleep(100 * time.Millisecond)
	}
	if c.link.broken.Load() || c.link.cut.CompareAndSwap(true, false) || rand.IntN(100) < c.link.drops {
		_ = c.Close()
		return 0, io.EOF
	}
	if c.link.before != nil {
		c.link.before()
	}
	if bytes.Contains(b, []byte("\r\neval")) {
		c.link.evals.Add(1)
	}
	return c.Conn.Write(b)
}

func (c linkConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.link.lost.CompareAndSwap(true, false) {
		_ = c.Close()
		return 0, io.EOF
	}
	return n, err
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// startRedis starts a Redis and returns its address, a socket. It is for the tests named OnRedis,
// which take real time. startRedis looks for redis-server on the path. PETSTORE_REDIS_SERVER may
// name another program, such as that of Valkey; if it is set, a test that cannot run fails.
func startRedis(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds of real time")
	}
	program, err := exec.LookPath(cmp.Or(os.Getenv("PETSTORE_REDIS_SERVER"), "redis-server"))
	if err != nil && os.Getenv("PETSTORE_REDIS_SERVER") == "" {
		t.Skip("there is no redis-server on the path: this test needs one")
	}
	dir, err2 := os.MkdirTemp("", "redis") // t.TempDir is too long for the path of a socket
	require.NoError(t, err2)
	address := filepath.Join(dir, "socket")
	cmd := exec.Command(program, "--port", "0", "--unixsocket", address, "--save", "", "--appendonly", "no", "--dir", dir)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	rdb := newClient(t, address, &link{})
	require.Eventually(t, func() bool { return rdb.Ping(t.Context()).Err() == nil }, time.Minute, 20*time.Millisecond)
	return address
}

// needsRepository skips a test that reads files beside this module: a module cache has none.
func needsRepository(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("../go.mod"); err != nil {
		t.Skip("there is no repository around this module")
	}
}

func newClient(t testing.TB, address string, k *link) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: address, Dialer: k.dial})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

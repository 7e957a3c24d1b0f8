package petstoreredis

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"
)

// testRedis is a Redis in memory that works in a synctest bubble: it is reached through pipes, and
// its clock is that of the goroutine that serves one. It is made outside the bubble.
type testRedis struct {
	*miniredis.Miniredis
	latency atomic.Int64 // of a command, half of it before it is carried out
	down    atomic.Bool  // connections are refused
}

func newTestRedis(t *testing.T) *testRedis {
	t.Helper()
	return &testRedis{Miniredis: miniredis.RunT(t)}
}

// client returns a client that is closed at the end of t, the bubble's.
func (r *testRedis) client(t *testing.T) *redis.Client {
	t.Helper()
	rdb := r.newClient(t, &redis.Options{Protocol: 2, DisableIdentity: true, MaxRetries: -1}, func() error { return nil })
	rdb.AddHook(hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if r.down.Load() {
			err := &net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}
			cmd.SetErr(err)
			return err
		}
		half := time.Duration(r.latency.Load()) / 2
		pause(half)
		err := next(ctx, cmd)
		pause(half)
		return err
	}))
	return rdb
}

// hook is a redis.Hook of single commands.
type hook func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error

// DialHook implements redis.Hook.
func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements redis.Hook.
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return h(ctx, cmd, next) }
}

// distantClient returns a client with the options that go-redis has by default, of a Redis far away.
func (r *testRedis) distantClient(t *testing.T, chance func() float64) *redis.Client {
	t.Helper()
	return r.newClient(t, &redis.Options{}, func() error {
		pause(50 * time.Millisecond)
		if chance() < 0.01 {
			return io.EOF
		}
		return nil
	})
}

// newClient returns a client that calls before to connect, and before each command.
func (r *testRedis) newClient(t *testing.T, options *redis.Options, before func() error) *redis.Client {
	t.Helper()
	options.Addr = "memory:6379"
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	options.Dialer = func(context.Context, string, string) (net.Conn, error) {
		if err := before(); err != nil {
			return nil, err
		}
		near, far := net.Pipe()
		go r.serve(far)
		return DistantConn{near, before}, nil
	}
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// serve carries out the commands of one connection. The server's own loop would tie the bubble to
// what is outside.
func (r *testRedis) serve(conn net.Conn) {
	defer conn.Close()
	in, peer := bufio.NewReader(conn), server.NewPeer(bufio.NewWriter(conn))
	for {
		text, err := proto.Read(in)
		if err != nil {
			return
		}
		args, err := proto.ReadStrings(text)
		if err != nil {
			return
		}
		r.Server().Dispatch(peer, args)
		peer.Flush()
	}
}

func pause(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}

func newTestLimiter(t *testing.T, r *testRedis, opts ...Option) *Limiter {
	t.Helper()
	l, err := NewLimiter(r.client(t), "key", opts...)
	require.NoError(t, err)
	return l
}

// setLatency changes how long a command takes, also while some are in flight.
func (r *testRedis) setLatency(d time.Duration) { r.latency.Store(int64(d)) }

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

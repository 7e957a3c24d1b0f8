package petstoreredis

import (
	"bufio"
	"context"
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
	trips   atomic.Int64 // commands that ran the script
	down    atomic.Bool  // connections are refused
}

func newTestRedis(t *testing.T) *testRedis {
	t.Helper()
	return &testRedis{Miniredis: miniredis.RunT(t)}
}

// client returns a client that is closed at the end of t, the bubble's.
func (r *testRedis) client(t *testing.T) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{
		Addr:     "memory:6379",
		Protocol: 2,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			if r.down.Load() {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}
			}
			near, far := net.Pipe()
			go r.serve(far)
			return near, nil
		},
		DisableIdentity:          true,
		MaxRetries:               -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	rdb.AddHook(r)
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

// DialHook implements redis.Hook.
func (r *testRedis) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (r *testRedis) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements redis.Hook.
func (r *testRedis) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if r.down.Load() {
			err := &net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}
			cmd.SetErr(err)
			return err
		}
		r.trips.Add(1)
		half := time.Duration(r.latency.Load()) / 2
		pause(half)
		err := next(ctx, cmd)
		pause(half)
		return err
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

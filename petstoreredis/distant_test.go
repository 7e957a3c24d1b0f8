package petstoreredis

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
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

package petstoreredis_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

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

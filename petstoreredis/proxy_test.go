package petstoreredis_test

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy makes a Redis far away or slow: each command takes delay longer, as does connecting, and of
// a hundred commands drops break their connection.
type proxy struct {
	address string
	to      string
	delay   atomic.Int64 // of each command, a time.Duration
	drops   int
	done    chan struct{}
	group   sync.WaitGroup
}

func newProxy(t *testing.T, to string, delay time.Duration, drops int) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{address: listener.Addr().String(), to: to, drops: drops, done: make(chan struct{})}
	p.delay.Store(int64(delay))
	p.group.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			p.group.Go(func() { p.serve(near) })
		}
	})
	t.Cleanup(func() {
		close(p.done)
		_ = listener.Close()
		p.group.Wait()
	})
	return p
}

// serve passes on what one connection says, until either end closes it.
func (p *proxy) serve(near net.Conn) {
	defer func() { _ = near.Close() }()
	p.pause()
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	over := make(chan struct{})
	p.group.Go(func() {
		defer close(over)
		_, _ = io.Copy(near, far)
		_ = near.Close()
	})
	p.group.Go(func() {
		select {
		case <-p.done:
			_ = near.Close()
			_ = far.Close()
		case <-over:
		}
	})
	p.commands(near, far)
}

// commands passes on the commands. A client of Redis waits for the reply before it sends more, but
// for what it sends in one piece, so that a read has one command or one pipeline.
func (p *proxy) commands(near, far net.Conn) {
	piece := make([]byte, 64<<10)
	for {
		n, err := near.Read(piece)
		if err != nil {
			return
		}
		p.pause()
		if rand.IntN(100) < p.drops {
			return
		}
		if _, err := far.Write(piece[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) pause() {
	if d := time.Duration(p.delay.Load()); d > 0 {
		select {
		case <-time.After(d):
		case <-p.done:
		}
	}
}

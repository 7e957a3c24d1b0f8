package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
	"github.com/petstore/petstore-go/bench/internal/report"
)

// countWrites counts how often the clients write to a socket for one request, through net/http's transport.
// req is left out: it has one of its own that takes no other connections.
func countWrites(ctx context.Context, baseURL string) ([]report.Writes, error) {
	var all []report.Writes
	for _, p := range peer.Peers() {
		if p.Name == "req" {
			continue
		}
		var written atomic.Int64
		client, err := p.New(peer.Target{BaseURL: baseURL, Transport: countingTransport(&written)})
		if err != nil {
			return nil, err
		}
		for _, o := range []canned.Operation{canned.List20, canned.Create} {
			const calls = 100
			before := written.Load()
			if err := (contestant{p.Name, client}).repeat(ctx, o, calls); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
			perCall := float64(written.Load()-before) / calls
			all = append(all, report.Writes{Client: p.Name, Operation: o.String(), PerCall: perCall})
		}
	}
	return all, nil
}

func countingTransport(written *atomic.Int64) *http.Transport {
	dialer := new(net.Dialer)
	return &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		return &countingConn{conn, written}, err
	}}
}

// countingConn hides that a TCP connection can do more than write, so that every write is seen.
type countingConn struct {
	net.Conn

	written *atomic.Int64
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.written.Add(1)
	return c.Conn.Write(p)
}

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/petstore/petstore-go/bench/internal/peer"
	"github.com/petstore/petstore-go/bench/internal/report"
)

// compareServers measures the CPU time that the fake needs for a request over TCP, beside a handler of
// net/http that writes a constant answer of the same size. Both serve 64 connections.
func compareServers(ctx context.Context, rounds, requests int) (*report.Service, error) {
	constant, err := startLoad(ctx, "canned")
	if err != nil {
		return nil, err
	}
	defer constant.end()
	fake, err := startLoad(ctx, "fake")
	if err != nil {
		return nil, err
	}
	defer fake.end()
	for range rounds + 1 {
		for _, l := range []*load{constant, fake} {
			if err := l.round(ctx, requests); err != nil {
				return nil, err
			}
		}
	}
	// The first round has made the connections.
	return &report.Service{Fake: fake.cpu[1:], Constant: constant.cpu[1:]}, nil
}

// load is a server with what it takes to keep it busy.
type load struct {
	server    *server
	transport *http.Transport
	cpu       []int64 // of the server, in ns per request, by round
}

func startLoad(ctx context.Context, kind string) (*load, error) {
	s, err := startServer(ctx, kind)
	if err != nil {
		return nil, err
	}
	return &load{server: s, transport: &http.Transport{MaxIdleConnsPerHost: goroutines}}, nil
}

func (l *load) end() {
	l.transport.CloseIdleConnections()
	_ = l.server.stop()
}

func (l *load) round(ctx context.Context, requests int) error {
	before, err := l.server.cpu()
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make(chan error, goroutines)
	for range goroutines {
		wg.Go(func() { errs <- l.request(ctx, requests/goroutines) })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	after, err := l.server.cpu()
	l.cpu = append(l.cpu, int64(after-before)/int64(requests/goroutines*goroutines))
	return err
}

func (l *load) request(ctx context.Context, n int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.server.baseURL+"/pets?limit=20", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+peer.APIKey)
	for range n {
		resp, err := l.transport.RoundTrip(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
	}
	return nil
}

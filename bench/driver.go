package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
	"github.com/petstore/petstore-go/bench/internal/report"
)

// plan is how much is measured.
type plan struct {
	Rounds   int
	Slice    time.Duration // CPU time of the yardstick in one round
	Calls    int           // for which connections are counted
	Runs     int           // how often they are
	Requests int           // to the fake in one round
	Only     []string      // the parts to run; empty: all
}

func fullPlan() plan {
	return plan{Rounds: 15, Slice: 40 * time.Millisecond, Calls: 3000, Runs: 3, Requests: 6400}
}

func quickPlan() plan {
	return plan{Rounds: 3, Slice: 5 * time.Millisecond, Calls: 640, Runs: 1, Requests: 1280}
}

func (p plan) has(part string) bool { return len(p.Only) == 0 || slices.Contains(p.Only, part) }

// drive measures everything that happens in this process and its servers.
func (p plan) drive(ctx context.Context) (*report.Report, error) {
	r := newReport(p.Rounds)
	s, err := startServer(ctx, "canned")
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.stop() }()
	for _, part := range []struct {
		name    string
		measure func() error
	}{
		{"calls", func() (err error) { r.Cells, err = contest{p.Rounds, p.Slice}.run(ctx, s.baseURL); return err }},
		{"calls", func() (err error) { r.Stub, err = measureStub(ctx); return err }},
		{"connections", func() (err error) { r.Connections, err = census{p.Calls, p.Runs}.run(ctx); return err }},
		{"writes", func() (err error) { r.Writes, err = countWrites(ctx, s.baseURL); return err }},
		{"heap", func() (err error) { r.Heap, err = measureHeaps(ctx); return err }},
		{"service", func() (err error) { r.Service, err = compareServers(ctx, p.Rounds, p.Requests); return err }},
	} {
		if !p.has(part.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s …\n", part.name)
		if err := part.measure(); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return r, nil
}

func newReport(rounds int) *report.Report {
	r := &report.Report{
		Toolchain: runtime.Version(),
		Platform:  fmt.Sprintf("%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Date:      time.Now().UTC().Format(time.DateOnly),
		Rounds:    rounds,
	}
	for _, p := range peer.Peers() {
		r.Clients = append(r.Clients, report.Client{Name: p.Name})
	}
	return r
}

// check sees that every client of this build does its job, over TCP and through the stub.
func check(ctx context.Context) error {
	s, err := startServer(ctx, "canned")
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	for _, target := range []peer.Target{
		{BaseURL: s.baseURL},
		{BaseURL: s.baseURL, IdleConns: goroutines},
		{BaseURL: s.baseURL, Transport: canned.NewTransport()},
	} {
		contestants, err := newContestants(target)
		if err != nil {
			return err
		}
		for _, c := range contestants {
			for _, o := range canned.Operations() {
				err = errors.Join(err, c.check(ctx, o))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

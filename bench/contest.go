package main

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
	"github.com/petstore/petstore-go/bench/internal/report"
)

// goroutines is how many call at once where calls are not made one after another.
const goroutines = 64

// contestant is a client in the contest.
type contestant struct {
	name   string
	client peer.Client
}

func newContestants(t peer.Target) ([]contestant, error) {
	var all []contestant
	for _, p := range peer.Peers() {
		client, err := p.New(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		all = append(all, contestant{p.Name, client})
	}
	return all, nil
}

// contest measures all clients side by side.
type contest struct {
	rounds int
	slice  time.Duration // of CPU time, for the yardstick's calls of one round
}

// run measures every operation through the stub and over TCP, alone and with many goroutines.
func (c contest) run(ctx context.Context, baseURL string) ([]report.Cell, error) {
	var cells []report.Cell
	for _, transport := range []string{"stub", "TCP"} {
		target := peer.Target{BaseURL: baseURL, IdleConns: goroutines}
		if transport == "stub" {
			target.Transport = canned.NewTransport()
		}
		contestants, err := newContestants(target)
		if err != nil {
			return nil, err
		}
		for _, n := range []int{1, goroutines} {
			for _, o := range canned.Operations() {
				row := report.Row{Transport: transport, Goroutines: n, Operation: o.String()}
				more, err := c.row(ctx, row, o, contestants)
				if err != nil {
					return nil, fmt.Errorf("%v: %w", row, err)
				}
				cells = append(cells, more...)
			}
		}
	}
	return cells, nil
}

// row measures one operation: round by round all clients, each time beginning with another.
func (c contest) row(
	ctx context.Context, row report.Row, o canned.Operation, contestants []contestant,
) ([]report.Cell, error) {
	n, err := c.warmUp(ctx, row, o, contestants)
	if err != nil {
		return nil, err
	}
	samples := make([][]sample, len(contestants))
	for round := range c.rounds {
		for i := range contestants {
			i = (i + round) % len(contestants)
			s, err := measure(n, contestants[i].calls(ctx, o, row.Goroutines))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", contestants[i].name, err)
			}
			samples[i] = append(samples[i], s)
		}
	}
	cells := make([]report.Cell, len(contestants))
	for i := range contestants {
		cells[i] = newCell(row, contestants[i].name, samples[i])
	}
	return cells, nil
}

// warmUp sees that every client does its job, fills pools and returns how many calls of the yardstick take
// a slice.
func (c contest) warmUp(
	ctx context.Context, row report.Row, o canned.Operation, contestants []contestant,
) (int, error) {
	const first = 2 * goroutines
	n := first
	for i, contestant := range contestants {
		if err := contestant.check(ctx, o); err != nil {
			return 0, fmt.Errorf("%s: %w", contestant.name, err)
		}
		s, err := measure(first, contestant.calls(ctx, o, row.Goroutines))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", contestant.name, err)
		}
		if i == 1 && s.cpu > 0 {
			n = max(first, int(int64(c.slice)/s.cpu)/goroutines*goroutines)
		}
	}
	return n, nil
}

// calls returns a function that makes n calls, spread over so many goroutines.
func (c contestant) calls(ctx context.Context, o canned.Operation, goroutines int) func(n int) error {
	return func(n int) error {
		if goroutines == 1 {
			return c.repeat(ctx, o, n)
		}
		var wg sync.WaitGroup
		errs := make(chan error, goroutines)
		for range goroutines {
			wg.Go(func() { errs <- c.repeat(ctx, o, n/goroutines) })
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// repeat calls n times. What NotFound comes to, an error or a result, is the client's choice.
func (c contestant) repeat(ctx context.Context, o canned.Operation, n int) error {
	for range n {
		if _, err := c.client.Call(ctx, o); err != nil && o != canned.NotFound {
			return err
		}
	}
	return nil
}

// check makes one call and compares what it brings with what was answered.
func (c contestant) check(ctx context.Context, o canned.Operation) error {
	got, err := c.client.Answer(c.client.Call(ctx, o))
	if err != nil {
		return fmt.Errorf("%s: %w", o, err)
	}
	if want := wantedAnswer(o, got.Status == 0); !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s: got %+v, want %+v", o, got, want)
	}
	return nil
}

// wantedAnswer is what every client has to bring; some do not tell the status of a success.
func wantedAnswer(o canned.Operation, silent bool) peer.Answer {
	want := peer.Answer{Status: canned.AnswerTo(o).Status, RateLimit: canned.RateLimit}
	switch o {
	case canned.List20, canned.List100:
		want.Pets = canned.Pets(o.Limit())
	case canned.Create, canned.Get:
		want.Pets = []petstore.Pet{canned.Pets(1)[0]}
		if silent {
			want.Status = 0
		}
	case canned.NotFound:
		want.Code = canned.NotFoundCode
	}
	return want
}

// measureStub returns what the stub itself takes for an answer.
func measureStub(ctx context.Context) (report.Cell, error) {
	transport := canned.NewTransport()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/v1/pets?limit=20", nil)
	if err != nil {
		return report.Cell{}, err
	}
	s, err := measure(10_000, func(n int) error {
		for range n {
			resp, err := transport.RoundTrip(req)
			if err != nil {
				return err
			}
			_ = resp.Body.Close()
		}
		return nil
	})
	return newCell(report.Row{Transport: "stub", Goroutines: 1}, "stub", []sample{s}), err
}

func newCell(row report.Row, client string, samples []sample) report.Cell {
	column := func(of func(sample) int64) []int64 {
		var numbers []int64
		for _, s := range samples {
			numbers = append(numbers, of(s))
		}
		return numbers
	}
	return report.Cell{
		Row:    row,
		Client: client,
		CPU:    column(func(s sample) int64 { return s.cpu }),
		Wall:   report.Median(column(func(s sample) int64 { return s.wall })),
		Bytes:  report.Median(column(func(s sample) int64 { return s.bytes })),
		Allocs: report.Median(column(func(s sample) int64 { return s.allocs })),
	}
}

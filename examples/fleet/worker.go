package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

// job is the task of a worker, which the environment gives it.
type job struct {
	Redis, Service string
	Requests       int
}

// result is the outcome of a worker, which prints it.
type result struct {
	Calls, Rejected int
	Took            time.Duration
}

const jobVariable = "FLEET_JOB"

// runWorker does the job of a worker, and reports whether this process is one.
func runWorker(ctx context.Context) (bool, error) {
	text := os.Getenv(jobVariable)
	if text == "" {
		return false, nil
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return true, err
	}
	return true, j.do(ctx)
}

// do makes this process part of the fleet: its client gets a limiter that the others have as well.
func (j job) do(ctx context.Context) error {
	rdb := redis.NewClient(&redis.Options{Addr: j.Redis})
	defer func() { _ = rdb.Close() }()
	limiter, err := petstoreredis.NewLimiter(rdb, "the fleet's key",
		petstoreredis.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))))
	if err != nil {
		return err
	}
	if err := watchLimiter(otel.Meter("fleet"), limiter); err != nil { // a no-op meter, unless the program sets one
		return err
	}
	client, err := petstore.NewClient(j.Service, fake.DefaultAPIKey,
		petstore.WithLimiter(limiter), petstore.WithMaxWait(time.Hour))
	if err != nil {
		return err
	}
	return errors.Join(j.send(ctx, client), limiter.Flush(ctx)) // this process ends at once
}

// send makes the calls and prints their outcome.
func (j job) send(ctx context.Context, client *petstore.Client) error {
	var r result
	start := time.Now()
	for range j.Requests {
		page, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 1})
		if err != nil {
			return err
		}
		r.Calls++
		r.Rejected += page.Attempts - 1 // the fake gives no other reason for a retry
	}
	r.Took = time.Since(start)
	return json.NewEncoder(os.Stdout).Encode(r)
}

// startWorkers runs n workers at once, each a process of its own, and waits for their results.
func startWorkers(ctx context.Context, n int, j job) ([]result, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	results, failures := make([]result, n), make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			cmd := exec.CommandContext(ctx, program)
			cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
			cmd.Stderr = os.Stderr
			output, err := cmd.Output()
			if err == nil {
				err = json.Unmarshal(output, &results[i])
			}
			if err != nil {
				failures[i] = fmt.Errorf("worker %d: %w", i+1, err)
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	return results, errors.Join(failures...)
}

package main

import (
	"bytes"
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

// send makes the calls from a few goroutines and prints their outcome.
func (j job) send(ctx context.Context, client *petstore.Client) error {
	const goroutines = 4
	var mu sync.Mutex
	var r result
	var failures []error
	var group sync.WaitGroup
	start := time.Now()
	for g := range goroutines {
		group.Go(func() {
			for i := g; i < j.Requests; i += goroutines {
				page, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 1})
				mu.Lock()
				if err != nil {
					failures = append(failures, err)
				} else {
					r.Calls++
					r.Rejected += page.Attempts - 1 // the fake gives no other reason for a retry
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	r.Took = time.Since(start)
	return errors.Join(append(failures, json.NewEncoder(os.Stdout).Encode(r))...)
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
				results[i], err = decode(bytes.NewReader(output))
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

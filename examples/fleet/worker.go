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
	"github.com/petstore/petstore-go/petstoreredis"
)

// job is the task of a worker, which the environment gives it.
type job struct {
	Redis, Service, Key string
	Requests            int
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
	client, err := petstore.NewClient(j.Service, j.Key, petstore.WithLimiter(limiter), petstore.WithMaxWait(time.Hour))
	for i := 0; i < j.Requests && err == nil; i++ {
		_, err = client.ListPets(ctx, petstore.ListPetsParams{Limit: 1})
	}
	return errors.Join(err, limiter.Flush(ctx)) // this process ends at once
}

// startWorkers runs n workers at once, each a process of its own, and waits for them.
func startWorkers(ctx context.Context, n int, j job) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	failures := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			cmd := exec.CommandContext(ctx, program)
			cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
			cmd.Stderr = os.Stderr
			if err := cmd.Run(); err != nil {
				failures[i] = fmt.Errorf("worker %d: %w", i+1, err)
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return errors.Join(failures...)
}

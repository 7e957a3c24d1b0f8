// Fleet lets eight workers share the limit of one key through Redis, and counts the 429s. Each
// worker stands for a process: it has its own limiter and its own client of Redis.
//
//	$ cd petstoreredis && go run ./examples/fleet
//	8 workers share a key of 60 requests in 10s
//	96 requests in 12.1 s, 429s: 0
//
// It uses a fake service, whose minute lasts ten seconds, and miniredis in place of Redis.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreredis"
)

func main() {
	if err := run(os.Stdout, 8, 60, 10*time.Second); err != nil {
		log.Fatal(err)
	}
}

// run starts the servers and the workers, and prints how many requests the fake service got.
func run(w io.Writer, workers, limit int, minute time.Duration) error {
	service := fake.NewServer(fake.WithPlan(fake.Plan{PerMinute: limit}), fake.WithMinute(minute),
		fake.WithLatency(50*time.Millisecond))
	defer service.Close()
	server, err := miniredis.Run()
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintf(w, "%d workers share a key of %d requests in %s\n", workers, limit, minute)
	start, ended := time.Now(), make(chan error)
	for range workers {
		go func() { ended <- work(server.Addr(), service.URL(), service.APIKey()) }()
	}
	for range workers {
		err = errors.Join(err, <-ended)
	}
	sent, rejected := len(service.Requests()), service.Usage(service.APIKey()).Limited
	fmt.Fprintf(w, "%d requests in %.1f s, 429s: %d\n", sent, time.Since(start).Seconds(), rejected)
	return err
}

// work makes twelve requests as one process of the fleet.
func work(address, url, key string) error {
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = rdb.Close() }()
	limiter, err := petstoreredis.NewLimiter(rdb)
	if err != nil {
		return err
	}
	client, err := petstore.NewClient(url, key, petstore.WithLimiter(limiter), petstore.WithMaxWait(time.Hour))
	for i := 0; i < 12 && err == nil; i++ {
		_, err = client.ListPets(context.Background(), petstore.ListPetsParams{Limit: 1})
	}
	return errors.Join(err, limiter.Flush(context.Background())) // before the process ends
}

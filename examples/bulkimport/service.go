package main

import (
	_ "embed"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// service is where the pets go.
type service struct {
	name    string // by which the journal knows it
	connect func(...petstore.Option) (*petstore.Client, error)
	close   func()
	minute  time.Duration // of its rate limit
}

//go:embed pets.csv
var sample []byte

// chooseService returns the service that the environment names, or a fake one where nobody can take
// that for the real one: on request, or for the example's own input if nothing is set.
func chooseService(fakeIt, isSample bool) (service, error) {
	baseURL := os.Getenv("PETSTORE_BASE_URL")
	named := baseURL + os.Getenv("PETSTORE_API_KEY") + os.Getenv("PETSTORE_API_KEY_FILE")
	if fakeIt || named == "" && isSample {
		const minute = 6 * time.Second // 500 rows show a wait for the limit, and nobody waits for long
		server := fake.NewServer(fake.WithPlan(fake.PlanPro), fake.WithMinute(minute), fake.WithLatency(minute/300))
		connect := func(opts ...petstore.Option) (*petstore.Client, error) { return server.Client(opts...), nil }
		return service{"a fake in memory", connect, server.Close, minute}, nil
	} else if baseURL == "" {
		return service{}, errors.New("PETSTORE_BASE_URL is not set; -fake imports into a fake service in memory")
	}
	return service{strings.TrimSuffix(baseURL, "/"), petstore.NewClientFromEnv, func() {}, time.Minute}, nil
}

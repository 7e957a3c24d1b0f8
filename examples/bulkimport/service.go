package main

import (
	"errors"
	"net/http"
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
}

// chooseService returns the service that the environment names, or a fake one.
func chooseService(chaos bool) (service, error) {
	baseURL := os.Getenv("PETSTORE_BASE_URL")
	switch {
	case baseURL == "":
		server := newFake(chaos)
		connect := func(opts ...petstore.Option) (*petstore.Client, error) { return server.Client(opts...), nil }
		return service{"a fake in memory", connect, server.Close}, nil
	case chaos:
		return service{}, errors.New("-chaos is for the fake service, and PETSTORE_BASE_URL names another")
	}
	return service{strings.TrimSuffix(baseURL, "/"), petstore.NewClientFromEnv, func() {}}, nil
}

// newFake returns a service on the Pro plan, 300 requests a minute, whose minute is short, so that an import
// of 500 rows shows a wait for the limit and nobody has to wait for long.
func newFake(chaos bool) *fake.Server {
	server := fake.NewServer(fake.WithPlan(fake.PlanPro), fake.WithMinute(6*time.Second),
		fake.WithLatency(20*time.Millisecond))
	if chaos {
		injectChaos(server)
	}
	return server
}

// injectChaos makes one create in six fail in ways that leave open, but for the 429, whether the pet was added.
func injectChaos(server *fake.Server) {
	for _, fault := range []fake.Fault{
		{Chance: 0.05, Wire: fake.WireReset},
		{Chance: 0.05, Wire: fake.WireReset, AfterCommit: true},
		{Chance: 0.05, Status: http.StatusServiceUnavailable},
		{Chance: 0.01, Status: http.StatusTooManyRequests, RetryAfter: "1"},
	} {
		fault.Operation, fault.Times = fake.OpCreatePet, fake.Forever
		server.Inject(fault)
	}
}

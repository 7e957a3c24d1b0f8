// Observability shows what petstoreotel records: the spans of each call, with its
// requests and waits, and the metrics in the format of Prometheus.
//
//	cd examples/observability && go run .
//
// It needs no network: the service is a fake in memory, and the records go to the standard output.
// alerts.yml and dashboard.json, for Prometheus and Grafana, use the same metrics.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run makes some calls, most of which fail at first, and prints what was recorded.
func run(ctx context.Context, w io.Writer) error {
	t, err := startTelemetry()
	if err != nil {
		return err
	}
	fmt.Fprint(w, "Traces\n\n")
	err = t.record(ctx, w)
	fmt.Fprint(w, "Metrics\n\n")
	return errors.Join(err, t.printMetrics(w), t.shutdown(ctx))
}

// record makes the calls, and prints the trace of each.
func (t *telemetry) record(ctx context.Context, w io.Writer) error {
	service := fake.NewServer(fake.WithLatency(40 * time.Millisecond))
	defer service.Close()
	client, err := petstore.NewClient("https://petstore.example.com/v1", service.APIKey(),
		petstoreotel.New(petstoreotel.WithTracerProvider(t.tracers), petstoreotel.WithMeterProvider(t.meters)),
		petstore.WithHTTPClient(service.HTTPClient())) // yours, if you have one
	if err != nil {
		return err
	}
	for _, s := range []struct {
		call  func(context.Context, *petstore.Client) error
		fault fake.Fault // of its first request
	}{
		{call: list},
		{call: create, fault: fake.Fault{Status: 429, RetryAfter: "2"}},
		{call: list, fault: fake.Fault{Status: 503}},
		{call: create, fault: fake.Fault{Wire: fake.WireReset}},            // which may have added the pet
		{call: create, fault: fake.Fault{Status: 429, RetryAfter: "3600"}}, // a ban, longer than the client waits
		{call: list}, // sends nothing
	} {
		service.Inject(s.fault)
		err := s.call(ctx, client)
		t.printSpans(w)
		if err != nil {
			fmt.Fprintln(w, err)
		}
		fmt.Fprintln(w)
	}
	return nil
}

func list(ctx context.Context, client *petstore.Client) error {
	_, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 5, Status: petstore.PetStatusAvailable})
	return err
}

func create(ctx context.Context, client *petstore.Client) error {
	_, err := client.CreatePet(ctx, petstore.NewPet{Name: "Rex", CategoryID: 1})
	return err
}

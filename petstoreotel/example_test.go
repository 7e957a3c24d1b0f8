package petstoreotel_test

import (
	"context"
	"fmt"
	"log"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/petstoreotel"
)

func Example() {
	server := fake.NewServer() // in place of the service
	defer server.Close()
	exporter := tracetest.NewInMemoryExporter() // in place of one for OTLP
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))

	client, err := petstore.NewClient("https://petstore.example.com/v1", server.APIKey(),
		petstoreotel.New(petstoreotel.WithTracerProvider(provider)), // New() if otel.SetTracerProvider was called
		petstore.WithHTTPClient(server.HTTPClient()))                // your own, if you have one
	if err != nil {
		log.Fatal(err)
	}

	if _, err := client.ListPets(context.Background(), petstore.ListPetsParams{Limit: 5}); err != nil {
		log.Fatal(err)
	}
	for _, span := range exporter.GetSpans() {
		fmt.Println(span.SpanKind, span.Name)
	}
	// Output:
	// client GET /v1/pets
	// internal listPets
}

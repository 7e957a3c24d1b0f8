package petstore_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"net/http"
	"sync"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/ratelimit"
)

// fewAtOnce is a Limiter that also limits how many requests are in flight at the same time. The
// limiter in it does everything else.
type fewAtOnce struct {
	petstore.Limiter
	inFlight chan struct{}
}

func (l fewAtOnce) Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error) {
	select {
	case l.inFlight <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	permit, err := l.Limiter.Acquire(ctx, r)
	if err != nil {
		<-l.inFlight
		return nil, err
	}
	return inFlightPermit{permit, l.inFlight}, nil
}

// inFlightPermit ends the flight of a request with its permit.
type inFlightPermit struct {
	ratelimit.Permit
	inFlight chan struct{}
}

func (p inFlightPermit) Release(o ratelimit.Outcome) ratelimit.Lockout {
	<-p.inFlight
	return p.Permit.Release(o)
}

// A Limiter of your own, around the one of the client.
func ExampleLimiter() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithLimiter(fewAtOnce{ratelimit.New(), make(chan struct{}, 2)}))

	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() {
			if _, err := client.ListPets(context.Background(), petstore.ListPetsParams{}); err != nil {
				fmt.Println(err)
			}
		})
	}
	calls.Wait()
	fmt.Println(len(server.Requests()), "requests, at most 2 at a time")
	// Output: 10 requests, at most 2 at a time
}

// logging is a transport that prints each request with the call that it belongs to.
type logging struct{ next http.RoundTripper }

func (l logging) RoundTrip(r *http.Request) (*http.Response, error) {
	call, _ := petstore.CallFromContext(r.Context())
	fmt.Println(call.Operation, "attempt", call.Attempt, r.Method, r.URL.Path)
	return l.next.RoundTrip(r)
}

// Unwrap lets the client see the connections of the wrapped transport.
func (l logging) Unwrap() http.RoundTripper { return l.next }

// A client for a service whose certificate another authority has signed.
func ExampleWithTransport_certificates() {
	authorities, _ := x509.SystemCertPool() // and AppendCertsFromPEM
	baseURL, apiKey := "https://petstore.example.com/v1", "my-api-key"
	client, err := petstore.NewClient(baseURL, apiKey,
		petstore.WithTransport(func(base http.RoundTripper) http.RoundTripper {
			transport := base.(*http.Transport).Clone()
			transport.TLSClientConfig = &tls.Config{RootCAs: authorities}
			return transport
		}))
	fmt.Println(client, err)
	// Output: petstore.Client(https://petstore.example.com/v1) <nil>
}

// A transport of your own around that of the client.
func ExampleWithTransport() {
	server := fake.NewServer()
	defer server.Close()
	client, err := petstore.NewClient(server.URL(), server.APIKey(),
		petstore.WithTransport(func(next http.RoundTripper) http.RoundTripper { return logging{next} }))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.ListPets(context.Background(), petstore.ListPetsParams{}); err != nil {
		log.Fatal(err)
	}
	// Output: listPets attempt 1 GET /v1/pets
}

// Four processes that share one key, each told how many they are. Set PETSTORE_PROCESSES=4 for
// NewClientFromEnv instead.
func ExampleWithProcesses() {
	server := fake.NewServer(fake.WithPlan(fake.PlanFree)) // 60 requests a minute
	defer server.Close()

	var processes []*petstore.Client
	for range 4 {
		processes = append(processes, server.Client(petstore.WithProcesses(4)))
	}
	for range 6 {
		for _, client := range processes {
			if _, err := client.ListPets(context.Background(), petstore.ListPetsParams{}); err != nil {
				fmt.Println(err)
			}
		}
	}
	usage := server.Usage(server.APIKey())
	fmt.Println(usage.Minute, "requests,", usage.Limited, "429s")
	// Output: 24 requests, 0 429s
}

package petstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/ratelimit"
)

// A client adds a pet, lists the pets, and gets a typed error. The service is the fake, so that the
// example runs anywhere; for a real service use petstore.NewClient("https://host/v1", apiKey).
func Example() {
	server := fake.NewServer()
	defer server.Close()
	client, err := petstore.NewClient(server.URL(), server.APIKey())
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	created, err := client.CreatePet(ctx, petstore.NewPet{Name: "Rex", CategoryID: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("created", created.Pet.Name, "with id", created.Pet.ID)

	result, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 10})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(result.Pets), "pet,", result.RateLimit.Remaining, "requests left")

	server.Inject(fake.Fault{Status: 401, Message: "the key was revoked"})
	_, err = client.ListPets(ctx, petstore.ListPetsParams{})
	fmt.Println(errors.Is(err, petstore.ErrUnauthorized), err)
	// Output:
	// created Rex with id 1
	// 1 pet, 998 requests left
	// true petstore: listPets: 401 unauthorized: "the key was revoked"
}

func ExampleNewClient() {
	client, err := petstore.NewClient("https://petstore.example.com/v1", "my-api-key",
		petstore.WithHeader("User-Agent", "myapp/1.2"),
		petstore.WithMaxWait(30*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client) // never the key
	// Output: petstore.Client(https://petstore.example.com/v1)
}

func ExampleClient_ListPets() {
	server := fake.NewServer(fake.WithPets(
		petstore.NewPet{Name: "Rex", CategoryID: 1, Status: petstore.PetStatusAvailable},
		petstore.NewPet{Name: "Mimi", CategoryID: 2, Status: petstore.PetStatusSold},
	))
	defer server.Close()
	client := server.Client() // or petstore.NewClient(baseURL, apiKey)

	result, err := client.ListPets(context.Background(), petstore.ListPetsParams{
		Limit:  10,
		Status: petstore.PetStatusAvailable,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, pet := range result.Pets {
		fmt.Println(pet.ID, pet.Name)
	}
	fmt.Println(result.RateLimit.Remaining, "of", result.RateLimit.Limit, "requests left")
	// Output:
	// 1 Rex
	// 999 of 1000 requests left
}

func ExampleWithAPIKeyFunc() {
	server := fake.NewServer()
	defer server.Close()
	key := server.APIKey() // say, from a vault
	client, err := petstore.NewClient("http://localhost/v1", "",
		petstore.WithHTTPClient(server.HTTPClient()),
		petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return key, nil }))
	if err != nil {
		log.Fatal(err)
	}
	call := func() {
		_, err := client.ListPets(context.Background(), petstore.ListPetsParams{})
		fmt.Println(err)
	}

	call()
	server.RevokeKey(key)
	key = "rotated"
	server.AddKey(key, fake.PlanPro)
	call()
	// Output:
	// <nil>
	// <nil>
}

func ExampleWithLogger() {
	server := fake.NewServer()
	defer server.Close()
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			shown := []string{"level", "msg", "operation", "attempt", "status", "reason", "waiting"}
			if len(groups) == 0 && slices.Contains(shown, a.Key) {
				return a
			}
			return slog.Attr{} // most other attributes differ from run to run
		},
	}))
	client := server.Client(petstore.WithLogger(logger),
		petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: time.Millisecond}))
	server.Inject(fake.Fault{Status: http.StatusBadGateway})

	if _, err := client.ListPets(context.Background(), petstore.ListPetsParams{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// level=DEBUG msg="petstore: attempt" operation=listPets attempt=1 status=502
	// level=DEBUG msg="petstore: waiting" operation=listPets reason=backoff waiting=1
	// level=DEBUG msg="petstore: retried" operation=listPets attempt=2
	// level=DEBUG msg="petstore: attempt" operation=listPets attempt=2 status=200
}

// A nightly job leaves a part of the limit to other calls, and shows its progress, also while it
// waits.
func ExampleWithTrace() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithBackground(), petstore.WithMaxWait(time.Hour),
		petstore.WithTrace(&petstore.ClientTrace{
			WaitStart: func(_ context.Context, c petstore.Call, w ratelimit.Wait) {
				fmt.Println(c.Operation, "waits for", w.Reason) // until w.Until
			},
		}), petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: time.Millisecond}))
	server.Inject(fake.Fault{Wire: fake.WireRefuse})

	names := []string{"Rex", "Ada"}
	for n, name := range names {
		if _, err := client.CreatePet(context.Background(), petstore.NewPet{Name: name, CategoryID: 1}); err != nil {
			log.Fatal(err)
		}
		fmt.Println(n+1, "of", len(names))
	}
	// Output:
	// createPet waits for backoff
	// 1 of 2
	// 2 of 2
}

// Do sends what the client has no method for: Go values as JSON, and JSON as it is.
func ExampleClient_Do() {
	server := fake.NewServer(fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}))
	defer server.Close()
	client, ctx := server.Client(), context.Background()

	var pets []petstore.Pet
	if _, err := client.Do(ctx, http.MethodGet, "pets?limit=10", nil, &pets); err != nil {
		log.Fatal(err)
	}
	var raw json.RawMessage
	response, err := client.Do(ctx, http.MethodPost, "pets", json.RawMessage(`{"name":"Ada","categoryId":2}`), &raw)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pets[0].Name, response.StatusCode, string(raw))
	// Output: Rex 201 {"id":2,"name":"Ada","categoryId":2}
}

// After an error of CreatePet there are three cases: the pet may have been created, nothing was
// sent, or the service refused the request.
func ExampleClient_CreatePet_errors() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithMaxWait(0))
	server.Inject(fake.Fault{AfterCommit: true, Wire: fake.WireReset}) // the response is lost
	server.Inject(fake.Fault{Status: http.StatusBadRequest})
	server.Inject(fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: "90"})

	for range 4 {
		_, err := client.CreatePet(context.Background(), petstore.NewPet{Name: "Rex", CategoryID: 1})
		after, _ := petstore.RetryAfter(err)
		switch {
		case errors.Is(err, petstore.ErrOutcomeUnknown):
			fmt.Println("look whether there is a pet before you send it again")
		case errors.Is(err, petstore.ErrNotSent):
			fmt.Println("not sent: try again in", after.Round(time.Second))
		case err != nil:
			fmt.Println("refused: try again in", after.Round(time.Second))
		}
	}
	// Output:
	// look whether there is a pet before you send it again
	// refused: try again in 0s
	// refused: try again in 1m30s
	// not sent: try again in 1m30s
}

// A handler does not let its own clients wait for the rate limit: it responds when to try again.
func ExampleRetryAfterHeader() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithMaxWait(0))
	handler := func(w http.ResponseWriter, r *http.Request) {
		result, err := client.ListPets(r.Context(), petstore.ListPetsParams{})
		if seconds, ok := petstore.RetryAfterHeader(err); ok {
			w.Header().Set("Retry-After", seconds)
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
		if err != nil {
			http.Error(w, "no pets today", http.StatusBadGateway)
			return
		}
		fmt.Fprintln(w, len(result.Pets), "pets")
	}

	server.Inject(fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: "90"})
	w := httptest.NewRecorder()
	handler(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Code, "Retry-After:", w.Header().Get("Retry-After"))
	// Output: 503 Retry-After: 90
}

// middleware is a transport that counts requests, and gives each an id for the service's support.
type middleware struct {
	next     http.RoundTripper
	requests *atomic.Int64
}

func (m middleware) RoundTrip(r *http.Request) (*http.Response, error) {
	m.requests.Add(1)
	call, _ := petstore.CallFromContext(r.Context())
	r.Header.Set("X-Request-ID", fmt.Sprintf("%s-%d", call.ID, call.Attempt)) // the header is of this request alone
	return m.next.RoundTrip(r)
}

// Middleware around the transport of the client.
func ExampleWithTransport() {
	server := fake.NewServer()
	defer server.Close()
	var requests atomic.Int64
	client := server.Client(petstore.WithTransport(func(next http.RoundTripper) http.RoundTripper {
		return middleware{next, &requests}
	}))
	if _, err := client.ListPets(context.Background(), petstore.ListPetsParams{}); err != nil {
		log.Fatal(err)
	}
	id := server.Requests()[0].Header.Get("X-Request-ID")
	fmt.Println(requests.Load(), "request with an id of", len(id), "characters")
	// Output: 1 request with an id of 18 characters
}

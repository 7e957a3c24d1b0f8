package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"slices"
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
		petstore.WithUserAgent("myapp/1.2"),
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

func ExampleRetryPolicy() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithRetryPolicy(petstore.RetryPolicy{
		MaxAttempts: 3,
		BaseDelay:   10 * time.Millisecond,
	}))
	server.Inject(fake.Fault{Status: http.StatusServiceUnavailable, Times: 2})

	result, err := client.ListPets(context.Background(), petstore.ListPetsParams{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("attempts:", result.Attempts)
	// Output: attempts: 3
}

// Two clients of one key share its budget.
func ExampleWithLimiter() {
	server := fake.NewServer(fake.WithPlan(fake.PlanFree))
	defer server.Close()
	limiter := ratelimit.New()
	reader := server.Client(petstore.WithLimiter(limiter))
	writer := server.Client(petstore.WithLimiter(limiter))

	if _, err := writer.CreatePet(context.Background(), petstore.NewPet{Name: "Rex", CategoryID: 1}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(reader.RateLimit().Remaining)
	// Output: 59
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
			switch a.Key {
			case slog.TimeKey, "call_id", "key_id", "duration", "until": // these differ from run to run
				return slog.Attr{}
			case "method": // left out to make the lines shorter
				return slog.Attr{}
			}
			if slices.Contains(groups, "rate_limit") {
				return slog.Attr{}
			}
			return a
		},
	}))
	client := server.Client(petstore.WithLogger(logger),
		petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: time.Millisecond}))
	server.Inject(fake.Fault{Status: http.StatusBadGateway})

	if _, err := client.ListPets(context.Background(), petstore.ListPetsParams{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// level=DEBUG msg="petstore: attempt" operation=listPets path=/v1/pets attempt=1 status=502
	// level=DEBUG msg="petstore: waiting" operation=listPets reason=backoff waiting=1
	// level=DEBUG msg="petstore: attempt" operation=listPets path=/v1/pets attempt=2 status=200
}

// A trace that counts requests and shows what each call waited for.
func ExampleWithTrace() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithTrace(&petstore.ClientTrace{
		WaitStart: func(_ context.Context, c petstore.Call, w ratelimit.Wait) {
			fmt.Println("waits for", w.Reason)
		},
		CallDone: func(_ context.Context, info petstore.CallDoneInfo) {
			fmt.Println(info.Call.Operation, "took", info.Call.Attempt, "requests, error:", info.Err)
		},
	}), petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: time.Millisecond}))
	server.Inject(fake.Fault{Status: http.StatusBadGateway})

	if _, err := client.ListPets(context.Background(), petstore.ListPetsParams{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// waits for backoff
	// listPets took 2 requests, error: <nil>
}

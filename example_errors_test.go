package petstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func ExampleAPIError() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client()
	server.Inject(fake.Fault{Status: http.StatusForbidden, Code: "suspended", Message: "the account is suspended"})

	_, err := client.ListPets(context.Background(), petstore.ListPetsParams{})
	if e, ok := errors.AsType[*petstore.APIError](err); ok {
		fmt.Println(e.StatusCode, e.Code, e.Message, e.RateLimit.Limit)
	}
	fmt.Println(err)
	// Output:
	// 403 suspended the account is suspended 1000
	// petstore: listPets: 403 suspended: "the account is suspended"
}

// After an error of CreatePet there are three cases: the pet may have been created, nothing was sent,
// or the service refused the request.
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

func ExampleAPIError_Is() {
	server := fake.NewServer()
	defer server.Close()
	client, err := petstore.NewClient("http://localhost/v1", "not-the-key",
		petstore.WithHTTPClient(server.HTTPClient()))
	if err != nil {
		log.Fatal(err)
	}

	_, err = client.ListPets(context.Background(), petstore.ListPetsParams{})
	fmt.Println(errors.Is(err, petstore.ErrUnauthorized))
	// Output: true
}

// If the wait would exceed WithMaxWait, the call fails immediately.
func ExampleRateLimitError() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithMaxWait(time.Minute))
	server.Inject(fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: "3600"})

	_, err := client.ListPets(context.Background(), petstore.ListPetsParams{})
	if e, ok := errors.AsType[*petstore.RateLimitError](err); ok {
		fmt.Println("come back in", time.Until(e.RetryAt).Round(time.Minute))
	}
	// Output: come back in 1h0m0s
}

func ExampleArgumentError() {
	client, err := petstore.NewClient("https://petstore.example.com/v1", "my-api-key")
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.ListPets(context.Background(), petstore.ListPetsParams{Limit: 101}) // nothing is sent
	fmt.Println(err)
	// Output: petstore: listPets: Limit: must be 1 to 100, or 0 for the service's default
}

func ExampleResponseError() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client()
	server.Inject(fake.Fault{
		Status: http.StatusOK,
		Header: http.Header{"Content-Type": {"text/html"}},
		Body:   []byte("<h1>Please log in</h1>"),
	})

	_, err := client.ListPets(context.Background(), petstore.ListPetsParams{})
	if e, ok := errors.AsType[*petstore.ResponseError](err); ok {
		fmt.Println(e.StatusCode, e.Reason)
	}
	// Output: 200 Content-Type is "text/html", not application/json
}

func ExampleTransportError() {
	server := fake.NewServer()
	defer server.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("shutting down"))

	_, err := server.Client().ListPets(ctx, petstore.ListPetsParams{})
	if e, ok := errors.AsType[*petstore.TransportError](err); ok {
		fmt.Println(e.Attempts, e.Sent, errors.Is(err, context.Canceled))
	}
	fmt.Println(err)
	// Output:
	// 0 false true
	// petstore: listPets: context canceled: shutting down
}

// A handler does not let its own clients wait for the rate limit: it responds when to try again.
func ExampleRateLimitError_RetryAfterHeader() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithMaxWait(0))
	handler := func(w http.ResponseWriter, r *http.Request) {
		result, err := client.ListPets(r.Context(), petstore.ListPetsParams{})
		if limited, ok := errors.AsType[*petstore.RateLimitError](err); ok {
			w.Header().Set("Retry-After", limited.RetryAfterHeader()) // the seconds until limited.RetryAt
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

// A job stops at the rate limit, and runs again at RetryAt.
func ExampleRateLimitError_schedule() {
	server := fake.NewServer(fake.WithPlan(fake.PlanFree))
	defer server.Close()
	server.BanKey(server.APIKey(), time.Hour)
	client := server.Client(petstore.WithMaxWait(time.Minute))
	job := func() (next time.Time, err error) {
		_, err = client.ListPets(context.Background(), petstore.ListPetsParams{})
		if limited, ok := errors.AsType[*petstore.RateLimitError](err); ok && !limited.RetryAt.IsZero() {
			return limited.RetryAt, nil
		}
		return time.Time{}, err
	}

	next, err := job()
	fmt.Println("next run in", time.Until(next).Round(time.Minute), err)
	// Output: next run in 1h0m0s <nil>
}

// addOnce adds pets, each at most once, also if it runs several times: it writes each create to the
// journal before it sends it, and does not repeat one whose outcome is unknown. The names of the
// pets must be different.
func addOnce(client *petstore.Client, journal *os.File, names ...string) error {
	before, err := os.ReadFile(journal.Name())
	if err != nil {
		return err
	}
	last := map[string]string{}
	for line := range strings.Lines(string(before)) {
		event, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		last[name] = event
	}
	for _, name := range names {
		if last[name] != "" && last[name] != "unsent" {
			continue // "sending" too: the program died then, and the pet may be there
		}
		fmt.Fprintln(journal, "sending", name)
		if err := journal.Sync(); err != nil {
			return err
		}
		event := "created"
		_, err := client.CreatePet(context.Background(), petstore.NewPet{Name: name, CategoryID: 1})
		if errors.Is(err, petstore.ErrOutcomeUnknown) {
			event = "unknown" // somebody has to check
		} else if err != nil {
			event = "unsent" // the service did not add the pet: the next run sends it
		}
		fmt.Fprintln(journal, event, name)
	}
	return nil
}

// An import that can be run again loses no pet and adds none twice. The program in
// examples/bulkimport does this for files of any size.
func ExampleClient_CreatePet_import() {
	server := fake.NewServer()
	defer server.Close()
	// The service adds the second pet, but its response is lost. It refuses the third request.
	server.Inject(fake.Fault{Skip: 1, AfterCommit: true, Wire: fake.WireReset})
	server.Inject(fake.Fault{Skip: 1, Status: 401})
	journal, err := os.CreateTemp("", "journal")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.Remove(journal.Name()) }()
	for range 2 { // the second run is a restart
		if err := addOnce(server.Client(), journal, "Rex", "Mimi", "Balu"); err != nil {
			log.Fatal(err)
		}
	}
	content, err := os.ReadFile(journal.Name())
	fmt.Print(string(content))
	fmt.Println(len(server.Pets()), "pets", err)
	// Output:
	// sending Rex
	// created Rex
	// sending Mimi
	// unknown Mimi
	// sending Balu
	// unsent Balu
	// sending Balu
	// created Balu
	// 3 pets <nil>
}

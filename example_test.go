package petstore_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
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
	created, err := client.CreatePet(ctx, petstore.NewPet{Name: "Rex", CategoryID: 1, Status: petstore.PetStatusSold})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("created", created.Pet.Name, "with id", created.Pet.ID)

	result, err := client.ListPets(ctx, petstore.ListPetsParams{Limit: 10, Status: petstore.PetStatusSold})
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
	fmt.Println(client, err) // never the key
	// Output: petstore.Client(https://petstore.example.com/v1) <nil>
}

func ExampleWithAPIKeyFunc() {
	server := fake.NewServer()
	defer server.Close()
	key := server.APIKey() // in a program, the key may come from a vault
	client, err := petstore.NewClient("http://localhost/v1", "",
		petstore.WithHTTPClient(server.HTTPClient()),
		petstore.WithAPIKeyFunc(func(context.Context) (string, error) { return key, nil }))
	if err != nil {
		log.Fatal(err)
	}

	server.RevokeKey(key)
	key = "rotated"
	server.AddKey(key, fake.PlanPro)
	_, err = client.ListPets(context.Background(), petstore.ListPetsParams{})
	fmt.Println(err)
	// Output: <nil>
}

// A nightly job leaves a part of the limit to other calls, and prints what it waits for.
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

	_, err := client.CreatePet(context.Background(), petstore.NewPet{Name: "Rex", CategoryID: 1})
	fmt.Println(err)
	// Output:
	// createPet waits for backoff
	// <nil>
}

// The service has an endpoint that the SDK does not know. Do sends Go values as JSON, and sends
// JSON text as it is.
func ExampleClient_Do() {
	server := fake.NewServer(fake.WithHandler("POST /v1/pets/{id}/adoptions", http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"PetID":%s}`, r.PathValue("id"))
		})))
	defer server.Close()
	client, ctx := server.Client(), context.Background()

	var adopted struct{ PetID int64 }
	in := map[string]string{"by": "Ada"}
	response, err := client.Do(ctx, http.MethodPost, "pets/7/adoptions", in, &adopted)
	fmt.Println(adopted.PetID, response.StatusCode, err)

	var raw json.RawMessage
	_, err = client.Do(ctx, http.MethodPost, "pets", json.RawMessage(`{"name":"Ada","categoryId":2}`), &raw)
	fmt.Println(string(raw), err)
	// Output:
	// 7 201 <nil>
	// {"id":1,"name":"Ada","categoryId":2} <nil>
}

// There are three kinds of errors of CreatePet: the pet may have been created; nothing was sent; or
// the service refused the request. RetryAfter reports when to try again, if that is known.
func ExampleClient_CreatePet_errors() {
	server := fake.NewServer()
	defer server.Close()
	client := server.Client(petstore.WithMaxWait(0))
	server.Inject(fake.Fault{AfterCommit: true, Wire: fake.WireReset}) // the response is lost
	server.Inject(fake.Fault{Status: http.StatusBadRequest})
	server.Inject(fake.Fault{Status: http.StatusTooManyRequests, RetryAfter: "90"})

	for range 4 {
		_, err := client.CreatePet(context.Background(), petstore.NewPet{Name: "Rex", CategoryID: 1})
		wait, known := petstore.RetryAfter(err)
		switch {
		case errors.Is(err, petstore.ErrOutcomeUnknown):
			fmt.Println("look whether there is a pet before you send it again")
		case errors.Is(err, petstore.ErrNotSent) && known:
			fmt.Println("not sent: try again in", wait.Round(time.Second))
		case known:
			fmt.Println("refused: try again in", wait.Round(time.Second))
		case errors.Is(err, petstore.ErrBadRequest):
			fmt.Println("refused: fix the request")
		case err != nil:
			fmt.Println("failed:", err)
		}
	}
	// Output:
	// look whether there is a pet before you send it again
	// refused: fix the request
	// refused: try again in 1m30s
	// not sent: try again in 1m30s
}

// signer is a transport that signs the body of each request for a gateway in front of the service,
// and gives the request an id for the service's support.
type signer struct{ next http.RoundTripper }

func (s signer) RoundTrip(r *http.Request) (*http.Response, error) {
	body := new(bytes.Buffer)
	if r.Body != nil {
		_, _ = body.ReadFrom(r.Body) // from memory
	}
	mac := hmac.New(sha256.New, []byte("a secret of the gateway"))
	mac.Write(body.Bytes())
	call, _ := petstore.CallFromContext(r.Context())
	signed := r.Clone(r.Context())
	signed.Body = io.NopCloser(body)
	signed.Header.Set("X-Signature", fmt.Sprintf("%x", mac.Sum(nil)))
	signed.Header.Set("X-Request-ID", fmt.Sprintf("%s-%d", call.ID, call.Attempt))
	return s.next.RoundTrip(signed)
}

// Middleware around the transport of the client.
func ExampleWithTransport() {
	server := fake.NewServer()
	defer server.Close()
	wrap := func(next http.RoundTripper) http.RoundTripper { return signer{next} }
	client := server.Client(petstore.WithTransport(wrap))
	_, err := client.CreatePet(context.Background(), petstore.NewPet{Name: "Rex", CategoryID: 1})
	sent := server.Requests()[0].Header
	fmt.Println(sent.Get("X-Signature")[:8], len(sent.Get("X-Request-ID")), err)
	// Output: c66a89a7 18 <nil>
}

// The service asks for a certificate of the client (mTLS). The client uses no proxy, whatever the
// environment says.
func ExampleWithTransport_proxy() {
	server := fake.NewServer()
	defer server.Close()
	service := httptest.NewUnstartedServer(server)
	service.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	service.StartTLS()
	defer service.Close()

	direct := petstore.WithTransport(func(own http.RoundTripper) http.RoundTripper {
		clone := own.(*http.Transport).Clone()
		clone.Proxy = nil // or http.ProxyURL(address)
		clone.TLSClientConfig = &tls.Config{
			RootCAs:      service.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, // your x509.CertPool
			Certificates: service.TLS.Certificates,                                             // of tls.LoadX509KeyPair
		}
		return clone
	})
	client, err := petstore.NewClient(service.URL+"/v1", server.APIKey(), direct)
	if err != nil {
		log.Fatal(err)
	}
	defer client.CloseIdleConnections()
	_, err = client.ListPets(context.Background(), petstore.ListPetsParams{})
	fmt.Println(len(server.Requests()), err)
	// Output: 1 <nil>
}

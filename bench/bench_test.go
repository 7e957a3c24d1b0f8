// Package bench compares what a call costs with different clients; docs/design.md has the table.
package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

const baseURL, apiKey = "http://example.com/v1", "bench-api-key"

// client is one of the clients that are compared, used as its documentation shows.
type client struct {
	name string
	// call lists pets or, if limit is 0, creates a pet. It returns the typed value that the client
	// gives to its user.
	call func(ctx context.Context, limit int) (any, error)
}

// clients returns the clients that are not generated. They send through transport. The others are
// compared with the first one.
func clients(transport http.RoundTripper) []client {
	retrying := retryablehttp.NewClient()
	retrying.Logger, retrying.HTTPClient.Transport = nil, transport
	return []client{
		{"nethttp", byHand((&http.Client{Transport: transport}).Do)},
		{"petstore-go", ours(transport)},
		{"go-retryablehttp", byHand(retrying.StandardClient().Do)},
	}
}

// newPet returns the pet that is created.
func newPet() petstore.NewPet {
	return petstore.NewPet{Name: "Mia", CategoryID: 3, Status: petstore.PetStatusAvailable}
}

// ours calls this repository's client as NewClient makes it: limiter, retries, strict decoding and
// the timeout of an attempt are on.
func ours(transport http.RoundTripper) func(context.Context, int) (any, error) {
	client := petstore.WithHTTPClient(&http.Client{Transport: transport})
	c, err := petstore.NewClient(baseURL, apiKey, client, petstore.WithInsecureHTTP())
	return func(ctx context.Context, limit int) (any, error) {
		if err != nil {
			return nil, err
		} else if limit > 0 {
			return c.ListPets(ctx, petstore.ListPetsParams{Limit: limit})
		}
		return c.CreatePet(ctx, newPet())
	}
}

// byHand returns what a careful user would write: encoding/json around send, with a timeout for
// each request.
func byHand(send func(*http.Request) (*http.Response, error)) func(context.Context, int) (any, error) {
	return func(ctx context.Context, limit int) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // the default timeout of petstore-go
		defer cancel()
		if limit > 0 {
			var pets []petstore.Pet
			return &pets, roundTrip(ctx, send, http.MethodGet, "/pets?limit="+strconv.Itoa(limit), nil, &pets)
		}
		var pet petstore.Pet
		body, err := json.Marshal(newPet())
		if err != nil {
			return nil, err
		}
		return &pet, roundTrip(ctx, send, http.MethodPost, "/pets", bytes.NewReader(body), &pet)
	}
}

func roundTrip(
	ctx context.Context, send func(*http.Request) (*http.Response, error), method, path string, body io.Reader, out any,
) error {
	r, err := http.NewRequestWithContext(ctx, method, baseURL+path, body)
	if err != nil {
		return err
	}
	r.Header = http.Header{"Authorization": {"Bearer " + apiKey}, "Accept": {"application/json"}}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := send(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// pets returns the pets of a response: names of three to nineteen letters, each third without a
// status.
func pets(n int) []petstore.Pet {
	names := []string{"Mia", "Bella", "Sir Barks-a-Lot", "Luna", "Captain Whiskerpaws", "Charlie", "Zoë"}
	statuses := []petstore.PetStatus{petstore.PetStatusAvailable, petstore.PetStatusSold, ""}
	all := make([]petstore.Pet, n)
	for i := range all {
		all[i] = petstore.Pet{
			ID: 4711 + int64(i), Name: names[i%len(names)], CategoryID: int64(i % 12), Status: statuses[i%3],
		}
	}
	return all
}

// stub is a transport that responds at once, on the caller's goroutine. It maps the query of a
// request to the body of the response. The headers show a limit that is never used up, so a limiter
// does its work, but never makes a caller wait. As an http.Handler, it responds over TCP.
type stub map[string][]byte

func newStub() stub {
	s := stub{}
	for query, value := range map[string]any{"": pets(1)[0], "limit=20": pets(20), "limit=100": pets(100)} {
		s[query], _ = json.Marshal(value) // nothing in it can fail
	}
	return s
}

// RoundTrip implements [http.RoundTripper].
func (s stub) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body, now := http.StatusOK, s[r.URL.RawQuery], time.Now()
	if r.Method == http.MethodPost {
		status = http.StatusCreated
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return &http.Response{
		StatusCode: status,
		Header: http.Header{
			"Content-Type":          {"application/json"},
			"Date":                  {now.UTC().Format(http.TimeFormat)},
			"X-Ratelimit-Limit":     {"1000000000"},
			"X-Ratelimit-Remaining": {"999999999"},
			"X-Ratelimit-Reset":     {strconv.FormatInt(now.Unix()/60*60+60, 10)},
		},
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}

// ServeHTTP implements [http.Handler].
func (s stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resp, _ := s.RoundTrip(r) // it never fails
	maps.Copy(w.Header(), resp.Header)
	w.Header().Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

// ids matches the IDs of the pets, 4711 to 4810, but no time of the day.
var ids = regexp.MustCompile(`:4[78]\d\d`)

// TestClients checks that all clients return the same pets.
func TestClients(t *testing.T) {
	for _, transport := range []http.RoundTripper{newStub(), overTCP(t)} {
		for _, c := range append(clients(transport), generated(transport)...) {
			for _, limit := range []int{0, 20, 100} {
				got, err := c.call(t.Context(), limit)
				require.NoError(t, err, c.name)
				text, err := json.Marshal(got)
				require.NoError(t, err, c.name)
				assert.Len(t, ids.FindAll(text, -1), max(limit, 1), "%s %s", c.name, text)
			}
		}
	}
}

// overTCP returns a transport to a server that responds as the stub does.
func overTCP(tb testing.TB) http.RoundTripper {
	tb.Helper()
	server := httptest.NewServer(newStub())
	tb.Cleanup(server.Close)
	return server.Client().Transport // which sends requests for example.com to the server
}

func BenchmarkCall(b *testing.B) { benchmark(b, newStub()) }
func BenchmarkTCP(b *testing.B)  { benchmark(b, overTCP(b)) }

func benchmark(b *testing.B, transport http.RoundTripper) {
	for _, limit := range []int{0, 20, 100} {
		name := map[int]string{0: "create", 20: "list20", 100: "list100"}[limit]
		for _, c := range append(clients(transport), generated(transport)...) {
			b.Run("op="+name+"/client="+c.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.call(b.Context(), limit); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

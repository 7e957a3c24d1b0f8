// Package bench compares what a call costs with different clients; see ../docs/benchmarks.md.
package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/petstore/petstore-go"
)

// operation is one of the calls that are measured.
type operation struct {
	name  string
	limit int   // of listPets
	id    int64 // of getPet
}

func operations() []operation {
	return []operation{{"list20", 20, 0}, {"list100", 100, 0}, {"create", 0, 0}, {"get", 0, 4711}}
}

// newPet returns the pet that createPet adds.
func newPet() petstore.NewPet {
	return petstore.NewPet{Name: "Mia", CategoryID: 3, Status: petstore.PetStatusAvailable}
}

// pets returns the pets of a response: names of three to nineteen letters, each third without a
// status.
func pets(n int) []petstore.Pet {
	names := []string{"Mia", "Bella", "Sir Barks-a-Lot", "Luna", "Captain Whiskerpaws", "Charlie", "Zoë"}
	statuses := []petstore.PetStatus{petstore.PetStatusAvailable, petstore.PetStatusSold, ""}
	all := make([]petstore.Pet, n)
	for i := range all {
		all[i] = petstore.Pet{ID: 4711 + int64(i), Name: names[i%len(names)], CategoryID: int64(i % 12), Status: statuses[i%3]}
	}
	return all
}

// stub is a transport that responds at once, on the caller's goroutine, with the headers of a plan
// that is never used up: a limiter works, and never makes a caller wait. It has the bodies by query.
type stub map[string][]byte

func newStub() stub {
	s := stub{}
	for query, value := range map[string]any{"": pets(1)[0], "limit=20": pets(20), "limit=100": pets(100)} {
		body, err := json.Marshal(value)
		if err != nil {
			panic(err) // nothing in it can fail
		}
		s[query] = body
	}
	return s
}

// RoundTrip implements [http.RoundTripper].
func (s stub) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := http.StatusOK, s[r.URL.RawQuery]
	if r.Method == http.MethodPost {
		status = http.StatusCreated
		_, err := io.Copy(io.Discard, r.Body)
		if err = errors.Join(err, r.Body.Close()); err != nil {
			return nil, err
		}
	}
	now := time.Now()
	return &http.Response{
		StatusCode: status,
		Header: http.Header{
			"Content-Type":          {"application/json"},
			"Date":                  {now.UTC().Format(http.TimeFormat)},
			"X-Ratelimit-Limit":     {"1000000000"},
			"X-Ratelimit-Remaining": {"999999999"},
			"X-Ratelimit-Reset":     {strconv.FormatInt(now.Unix()/86400*86400+86400*30, 10)},
		},
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}

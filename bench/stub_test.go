// Package bench compares what a call costs with different clients; docs/design.md has the table.
package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/petstore/petstore-go"
)

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

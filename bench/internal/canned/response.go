package canned

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// Response is the response to an operation.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// RateLimit is in the headers of every response: a plan that is never used up, so that a limiter
// works and never makes a caller wait. The window ends next year, for client and server alike.
var RateLimit = petstore.RateLimit{
	Limit:     1_000_000_000,
	Remaining: 999_999_999,
	Reset:     time.Date(time.Now().UTC().Year()+1, time.January, 1, 0, 0, 0, 0, time.UTC),
}

// NewPet is the pet that Create adds.
var NewPet = petstore.NewPet{Name: "Mia", CategoryID: 3, Status: petstore.PetStatusAvailable}

// NotFoundCode is the code of the Error object that NotFound gets.
const NotFoundCode = "not_found"

// Pets returns the first n pets of the catalogue: names of three to nineteen letters, a status for
// all but every tenth.
func Pets(n int) []petstore.Pet {
	names := []string{"Mia", "Rex", "Bella", "Sir Barks-a-Lot", "Luna", "Captain Whiskerpaws", "Charlie", "Zoë"}
	statuses := []petstore.PetStatus{
		petstore.PetStatusAvailable, petstore.PetStatusPending, petstore.PetStatusSold,
	}
	pets := make([]petstore.Pet, n)
	for i := range pets {
		pets[i] = petstore.Pet{
			ID:         PetID + int64(i),
			Name:       names[i%len(names)],
			CategoryID: int64(i % 12),
			Status:     statuses[i%len(statuses)],
		}
		if i%10 == 9 {
			pets[i].Status = ""
		}
	}
	return pets
}

// ResponseTo returns the response to an operation.
func ResponseTo(o Operation) Response {
	switch o {
	case List20, List100:
		return newResponse(http.StatusOK, Pets(o.Limit()))
	case Create:
		return newResponse(http.StatusCreated, Pets(1)[0])
	case Get:
		return newResponse(http.StatusOK, Pets(1)[0])
	case NotFound:
	}
	return newResponse(http.StatusNotFound, map[string]any{
		"code": NotFoundCode, "message": "no pet " + strconv.Itoa(MissingID), "status": http.StatusNotFound,
	})
}

func newResponse(status int, value any) Response {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	header := http.Header{
		"Content-Type":   {"application/json"},
		"Content-Length": {strconv.Itoa(len(body))},
	}
	SetRateLimit(header)
	return Response{status, header, body}
}

// SetRateLimit adds the three headers of section 8.2.
func SetRateLimit(h http.Header) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(RateLimit.Limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(RateLimit.Remaining))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(RateLimit.Reset.Unix(), 10))
}

// responses are all responses, by operation.
type responses [NotFound + 1]Response

func newResponses() *responses {
	var all responses
	for _, o := range Operations() {
		all[o] = ResponseTo(o)
	}
	return &all
}

// to finds the response to a request, at the price of a few comparisons.
func (all *responses) to(r *http.Request) *Response {
	switch {
	case r.Method == http.MethodPost:
		return &all[Create]
	case strings.HasSuffix(r.URL.Path, "/pets") && r.URL.RawQuery == "limit=100":
		return &all[List100]
	case strings.HasSuffix(r.URL.Path, "/pets"):
		return &all[List20]
	case strings.HasSuffix(r.URL.Path, "/"+strconv.Itoa(MissingID)):
		return &all[NotFound]
	}
	return &all[Get]
}

// NewHandler returns a handler that gives the responses over the network.
func NewHandler() http.Handler {
	all := newResponses()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		resp := all.to(r)
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.Status)
		_, _ = w.Write(resp.Body)
	})
}

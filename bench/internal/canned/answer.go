package canned

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
)

// Answer is what the service says to an operation.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// RateLimit is what the headers of every answer say: a plan that nobody uses up, so that the limiter works
// and never makes a caller wait.
var RateLimit = petstore.RateLimit{
	Limit:     1_000_000_000,
	Remaining: 999_999_999,
	Reset:     time.Date(time.Now().UTC().Year()+1, time.January, 1, 0, 0, 0, 0, time.UTC), // to client and server
}

// NewPet is the animal that Create adds.
var NewPet = petstore.NewPet{Name: "Mia", CategoryID: 3, Status: petstore.PetStatusAvailable}

// NotFoundCode is the code of the Error object of NotFound.
const NotFoundCode = "not_found"

// Pets returns the first n animals of the catalogue: names of three to nineteen letters, a status
// for all but every tenth.
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

// AnswerTo is the answer to an operation.
func AnswerTo(o Operation) Answer {
	switch o {
	case List20, List100:
		return newAnswer(http.StatusOK, Pets(o.Limit()))
	case Create:
		return newAnswer(http.StatusCreated, Pets(1)[0])
	case Get:
		return newAnswer(http.StatusOK, Pets(1)[0])
	case NotFound:
	}
	return newAnswer(http.StatusNotFound, map[string]any{
		"code": NotFoundCode, "message": "there is no animal " + strconv.Itoa(MissingID), "status": http.StatusNotFound,
	})
}

func newAnswer(status int, value any) Answer {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	header := http.Header{
		"Content-Type":   {"application/json"},
		"Content-Length": {strconv.Itoa(len(body))},
		"Date":           {time.Now().UTC().Format(http.TimeFormat)},
	}
	SetRateLimit(header)
	return Answer{status, header, body}
}

// SetRateLimit adds the three headers of section 8.2.
func SetRateLimit(h http.Header) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(RateLimit.Limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(RateLimit.Remaining))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(RateLimit.Reset.Unix(), 10))
}

// book is all the answers, by operation.
type book [NotFound + 1]Answer

func newBook() *book {
	var b book
	for _, o := range Operations() {
		b[o] = AnswerTo(o)
	}
	return &b
}

// answer finds what a request asks for, at the price of a few comparisons.
func (b *book) answer(r *http.Request) *Answer {
	switch {
	case r.Method == http.MethodPost:
		return &b[Create]
	case strings.HasSuffix(r.URL.Path, "/pets") && r.URL.RawQuery == "limit=100":
		return &b[List100]
	case strings.HasSuffix(r.URL.Path, "/pets"):
		return &b[List20]
	case strings.HasSuffix(r.URL.Path, "/"+strconv.Itoa(MissingID)):
		return &b[NotFound]
	}
	return &b[Get]
}

package peer

import (
	"errors"
	"fmt"

	petstore "github.com/petstore/petstore-go"
)

// errUnknownResult means that a client returned a type that its adapter does not know.
var errUnknownResult = errors.New("unknown type of result")

// The types that a user of a client without generated types would declare.

type wirePet struct {
	ID         int64              `json:"id"`
	Name       string             `json:"name"`
	CategoryID int64              `json:"categoryId"`
	Status     petstore.PetStatus `json:"status,omitempty"`
}

type wireNewPet struct {
	Name       string             `json:"name"`
	CategoryID int64              `json:"categoryId"`
	Status     petstore.PetStatus `json:"status,omitempty"`
}

type wireError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

// apiError is the Error object as a Go error.
type apiError struct {
	wireError
	limit petstore.RateLimit
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// wireResult is the value that their calls return.
type wireResult struct {
	status int
	pets   []wirePet
	limit  petstore.RateLimit
}

// wireReader has the Read method of all clients that use the types of this file.
type wireReader struct{}

// Read implements [Client].
func (wireReader) Read(value any, err error) (Result, error) {
	if e, ok := errors.AsType[*apiError](err); ok {
		return Result{Status: e.Status, Code: e.Code, RateLimit: e.limit}, nil
	}
	if err != nil {
		return Result{}, err
	}
	r, ok := value.(*wireResult)
	if !ok {
		return Result{}, errUnknownResult
	}
	a := Result{Status: r.status, RateLimit: r.limit}
	for _, p := range r.pets {
		a.Pets = append(a.Pets, petstore.Pet(p))
	}
	return a, nil
}

package peer

import (
	"errors"
	"fmt"

	petstore "github.com/petstore/petstore-go"
)

// errUnknownResult says that a client returned what its adapter does not know.
var errUnknownResult = errors.New("unknown type of result")

// What a user of a client without generated types would declare.

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

// wireResult is what their calls return.
type wireResult struct {
	status int
	pets   []wirePet
	limit  petstore.RateLimit
}

// wireAnswer is the Answer method of all clients that use the types of this file.
type wireAnswer struct{}

// Answer implements [Client].
func (wireAnswer) Answer(result any, err error) (Answer, error) {
	if e, ok := errors.AsType[*apiError](err); ok {
		return Answer{Status: e.Status, Code: e.Code, RateLimit: e.limit}, nil
	}
	if err != nil {
		return Answer{}, err
	}
	r, ok := result.(*wireResult)
	if !ok {
		return Answer{}, errUnknownResult
	}
	a := Answer{Status: r.status, RateLimit: r.limit}
	for _, p := range r.pets {
		a.Pets = append(a.Pets, petstore.Pet(p))
	}
	return a, nil
}

package petstore

import (
	"context"
	"strconv"
	"unicode/utf8"

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/errtext"
)

// PetStatus is the availability of a pet (section 2). The service may add statuses to the three
// declared here; the client returns an unknown status unchanged.
type PetStatus string

// The statuses of the service document (section 2).
const (
	PetStatusAvailable PetStatus = "available"
	PetStatusPending   PetStatus = "pending"
	PetStatusSold      PetStatus = "sold"
)

// PetStatuses returns the statuses of the service document, in its order. The caller may change the
// result.
func PetStatuses() []PetStatus {
	return []PetStatus{PetStatusAvailable, PetStatusPending, PetStatusSold}
}

// Valid reports whether s is one of the statuses of the service document. The empty status is not.
func (s PetStatus) Valid() bool {
	switch s {
	case PetStatusAvailable, PetStatusPending, PetStatusSold:
		return true
	}
	return false
}

// NewPet is a pet to be added (section 2).
type NewPet struct {
	// Name is required: a non-empty string of valid UTF-8.
	Name string `json:"name"`
	// CategoryID is required and always sent; 0 is a valid category.
	CategoryID int64 `json:"categoryId"`
	// Status is optional. The empty status is not sent; the document does not say which status the
	// pet then gets.
	Status PetStatus `json:"status,omitempty"`
}

// Pet is a pet in the catalogue (section 2).
type Pet struct {
	// ID is assigned by the service.
	ID int64 `json:"id"`
	// Name is the pet's name; it may be empty.
	Name string `json:"name"`
	// CategoryID identifies the category of the pet.
	CategoryID int64 `json:"categoryId"`
	// Status is empty if the service sent none. It may be a status that is not Valid.
	Status PetStatus `json:"status,omitempty"`
}

// MaxLimit is the largest [ListPetsParams.Limit] (section 4.1).
const MaxLimit = 100

// ListPetsParams has the parameters of [Client.ListPets]. A zero field is not sent, so the zero
// value asks for the service's default, 20 pets of any status.
type ListPetsParams struct {
	// Limit is the largest number of pets to return, from 1 to [MaxLimit].
	Limit int
	// Status selects the pets with this status.
	Status PetStatus
}

// ListPetsResult is the result of [Client.ListPets].
type ListPetsResult struct {
	// Pets is never nil. The document does not define the order of the pets.
	Pets []Pet
	// Response describes the last HTTP exchange: StatusCode, Header, RateLimit, Attempts.
	Response
}

// CreatePetResult is the result of [Client.CreatePet].
type CreatePetResult struct {
	// Pet is the pet as the service stored it.
	Pet Pet
	// Response describes the last HTTP exchange: StatusCode, Header, RateLimit, Attempts.
	Response
}

// GetPetResult is the result of [Client.GetPet].
type GetPetResult struct {
	// Pet is the pet that was asked for.
	Pet Pet
	// Response describes the last HTTP exchange: StatusCode, Header, RateLimit, Attempts.
	Response
}

// ListPets lists pets (section 4.1). The service offers no way to get the pets beyond the limit.
//
// The error is an [*ArgumentError], [*APIError], [*RateLimitError], [*ResponseError] or
// [*TransportError]; the result is nil then.
func (c *Client) ListPets(ctx context.Context, params ListPetsParams, opts ...CallOption) (*ListPetsResult, error) {
	if err := params.validate(); err != nil {
		return nil, err
	}
	args := arguments{operation: listPets, query: params.query()}
	pets, response, err := perform(ctx, c, args, opts, decodePets)
	if err != nil {
		return nil, err
	}
	return &ListPetsResult{pets, response}, nil
}

// CreatePet adds a pet (section 4.2). It is not idempotent, and the service has no idempotency key:
// therefore the client never repeats a request that the service may have carried out; the error
// then matches [ErrOutcomeUnknown]. After any other error the pet was not created.
//
// The error is an [*ArgumentError], [*APIError], [*RateLimitError], [*ResponseError] or
// [*TransportError]; the result is nil then.
func (c *Client) CreatePet(ctx context.Context, pet NewPet, opts ...CallOption) (*CreatePetResult, error) {
	if err := pet.validate(); err != nil {
		return nil, err
	}
	args := arguments{operation: createPet, body: encodeNewPet(pet)}
	created, response, err := perform(ctx, c, args, opts, decodePet)
	if err != nil {
		return nil, err
	}
	return &CreatePetResult{created, response}, nil
}

// GetPet fetches one pet (section 4.3).
//
// The error is an [*ArgumentError], [*APIError], [*RateLimitError], [*ResponseError] or
// [*TransportError]; the result is nil then. The error matches [ErrNotFound] if there is no such
// pet.
//
// Deprecated: the service removes this operation on 5 December 2030. Use [Client.ListPets] with a
// status filter instead.
func (c *Client) GetPet(ctx context.Context, id int64, opts ...CallOption) (*GetPetResult, error) {
	args := arguments{operation: getPet, id: id}
	pet, response, err := perform(ctx, c, args, opts, func(b *body.Buffer) (Pet, error) { return decodePetWithID(b, id) })
	if err != nil {
		return nil, err
	}
	return &GetPetResult{pet, response}, nil
}

func (p ListPetsParams) validate() error {
	if p.Limit != 0 && (p.Limit < 1 || p.Limit > MaxLimit) {
		return &ArgumentError{OpListPets, "Limit", "must be 1 to 100, or 0 for the service's default"}
	}
	return validateStatus(OpListPets, p.Status)
}

func (p ListPetsParams) query() string {
	var limit, status string
	if p.Limit != 0 {
		limit = "limit=" + strconv.Itoa(p.Limit)
	}
	if p.Status != "" {
		status = "status=" + string(p.Status) // validate allows three statuses; none needs escaping
	}
	if limit != "" && status != "" {
		limit += "&"
	}
	return limit + status
}

func (p NewPet) validate() error {
	switch {
	case p.Name == "":
		return &ArgumentError{OpCreatePet, "Name", "is empty"}
	case !utf8.ValidString(p.Name):
		return &ArgumentError{OpCreatePet, "Name", "is not valid UTF-8"}
	}
	return validateStatus(OpCreatePet, p.Status)
}

func validateStatus(operation string, s PetStatus) error {
	if s != "" && !s.Valid() {
		return &ArgumentError{operation, "Status", errtext.Quote(string(s)) + " is none of available, pending, sold"}
	}
	return nil
}

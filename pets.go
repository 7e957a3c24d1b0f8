package petstore

import (
	"context"
	"strconv"
	"unicode/utf8"
)

// PetStatus is the availability of a pet (section 2). The service may come to know
// more statuses than the three declared here; a client of today passes them on unchanged.
type PetStatus string

// The statuses the service document names (section 2).
const (
	PetStatusAvailable PetStatus = "available"
	PetStatusPending   PetStatus = "pending"
	PetStatusSold      PetStatus = "sold"
)

// PetStatuses returns the statuses that the service document names, in its order. The result belongs
// to the caller.
func PetStatuses() []PetStatus {
	return []PetStatus{PetStatusAvailable, PetStatusPending, PetStatusSold}
}

// Valid reports whether s is one of the statuses that the service document names.
// The empty status is not.
func (s PetStatus) Valid() bool {
	switch s {
	case PetStatusAvailable, PetStatusPending, PetStatusSold:
		return true
	}
	return false
}

// NewPet is a pet to be added (section 2).
type NewPet struct {
	// Name is required: any non-empty string of valid UTF-8.
	Name string `json:"name"`
	// CategoryID is required and always sent; 0 is a category like any other.
	CategoryID int64 `json:"categoryId"`
	// Status is optional: the empty status is not sent, and what the service makes
	// of that the document leaves open.
	Status PetStatus `json:"status,omitempty"`
}

// Pet is a pet in the catalogue (section 2).
type Pet struct {
	// ID is assigned by the service.
	ID int64 `json:"id"`
	// Name is whatever the service stores, the empty string included.
	Name string `json:"name"`
	// CategoryID is the category the pet belongs to.
	CategoryID int64 `json:"categoryId"`
	// Status is empty if the service sent none, and may be a status that is not Valid.
	Status PetStatus `json:"status,omitempty"`
}

// The bounds of [ListPetsParams.Limit] and what the service takes when none is sent (section 4.1).
const (
	MinLimit     = 1
	MaxLimit     = 100
	DefaultLimit = 20
)

// ListPetsParams narrows [Client.ListPets]. A zero field is not sent, so the zero value asks for
// the first [DefaultLimit] pets of any status.
type ListPetsParams struct {
	// Limit is the greatest number of pets to return, from MinLimit to MaxLimit.
	Limit int
	// Status keeps only the pets of this status.
	Status PetStatus
}

// ListPetsResult is the result of [Client.ListPets].
type ListPetsResult struct {
	// Pets is never nil. The document leaves their order open.
	Pets []Pet
	// Response describes the exchange: StatusCode, Header, RateLimit, Attempts.
	Response
}

// CreatePetResult is the result of [Client.CreatePet].
type CreatePetResult struct {
	// Pet is the pet as the service stored it.
	Pet Pet
	// Response describes the exchange: StatusCode, Header, RateLimit, Attempts.
	Response
}

// GetPetResult is the result of [Client.GetPet].
type GetPetResult struct {
	// Pet is the pet as the service keeps it.
	Pet Pet
	// Response describes the exchange: StatusCode, Header, RateLimit, Attempts.
	Response
}

// ListPets lists pets (section 4.1). The service has no means to ask for the pets beyond the limit.
//
// The error is an [*ArgumentError], [*APIError], [*RateLimitError], [*ResponseError] or
// [*TransportError]; the result is nil then.
func (c *Client) ListPets(ctx context.Context, params ListPetsParams, opts ...CallOption) (*ListPetsResult, error) {
	if err := params.validate(); err != nil {
		return nil, err
	}
	r := request{operation: listPets, query: params.query()}
	pets, response, err := perform(ctx, c, r, opts, decodePets)
	if err != nil {
		return nil, err
	}
	return &ListPetsResult{pets, response}, nil
}

// CreatePet adds a pet (section 4.2). It is not idempotent and the service knows no idempotency key:
// a request that may have been carried out is never sent again, and its error matches [ErrOutcomeUnknown].
//
// The error is an [*ArgumentError], [*APIError], [*RateLimitError], [*ResponseError] or
// [*TransportError]; the result is nil then.
func (c *Client) CreatePet(ctx context.Context, pet NewPet, opts ...CallOption) (*CreatePetResult, error) {
	if err := pet.validate(); err != nil {
		return nil, err
	}
	r := request{operation: createPet, body: encodeNewPet(pet)}
	created, response, err := perform(ctx, c, r, opts, decodePet)
	if err != nil {
		return nil, err
	}
	return &CreatePetResult{created, response}, nil
}

// GetPet fetches one pet (section 4.3).
//
// The error is an [*ArgumentError], [*APIError], [*RateLimitError], [*ResponseError] or
// [*TransportError]; the result is nil then. It matches [ErrNotFound] if there is no such pet.
//
// Deprecated: the service removes this operation on 5 December 2030. Use [Client.ListPets] with a status
// filter instead.
func (c *Client) GetPet(ctx context.Context, id int64, opts ...CallOption) (*GetPetResult, error) {
	r := request{operation: getPet, id: id}
	pet, response, err := perform(ctx, c, r, opts, func(b *buffer) (Pet, error) { return decodePetWithID(b, id) })
	if err != nil {
		return nil, err
	}
	return &GetPetResult{pet, response}, nil
}

func (p ListPetsParams) validate() error {
	if p.Limit != 0 && (p.Limit < MinLimit || p.Limit > MaxLimit) {
		return &ArgumentError{opListPets, "Limit", "must be 1 to 100, or 0 for the service's default"}
	}
	return validateStatus(opListPets, p.Status)
}

func (p ListPetsParams) query() string {
	var limit, status string
	if p.Limit != 0 {
		limit = "limit=" + strconv.Itoa(p.Limit)
	}
	if p.Status != "" {
		status = "status=" + string(p.Status) // one of three, none of which needs escaping
	}
	if limit != "" && status != "" {
		limit += "&"
	}
	return limit + status
}

func (p NewPet) validate() error {
	switch {
	case p.Name == "":
		return &ArgumentError{opCreatePet, "Name", "is empty"}
	case !utf8.ValidString(p.Name):
		return &ArgumentError{opCreatePet, "Name", "is not valid UTF-8"}
	}
	return validateStatus(opCreatePet, p.Status)
}

func validateStatus(operation string, s PetStatus) error {
	if s != "" && !s.Valid() {
		return &ArgumentError{operation, "Status", quote(string(s)) + " is none of available, pending, sold"}
	}
	return nil
}

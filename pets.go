package petstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/petstore/petstore-go/internal/body"
)

// operation is an operation of the service (section 4), or a request of Do.
type operation struct {
	// name is the operationId of the document or, for Do, "do " and the method.
	name     string
	method   string
	template string // path template below the base URL
	// success is the documented status of a success; 0 for any 2xx.
	success int
	// repeatable reports whether the request may be sent again, because that has no further effect.
	repeatable bool
	// doubt is what an error says may have happened if the outcome is unknown.
	doubt string
	// removal is the date from which the service no longer has the operation; empty if it stays.
	// instead is the operation to use in its place.
	removal string
	instead string
	// sendsRaw reports whether the caller of Do gave the body as bytes, and raw whether the caller
	// gets the body of a success as bytes.
	sendsRaw bool
	raw      bool
}

// The operations of the service (section 4), as the Operation fields of errors and of [Call] name
// them.
const (
	OpListPets  = "listPets"
	OpCreatePet = "createPet"
	OpGetPet    = "getPet"
)

// All that differs between operations is in these values, so that no other code asks which
// operation it has.
var (
	listPets = &operation{
		name: OpListPets, method: http.MethodGet, template: "/pets", success: http.StatusOK, repeatable: true,
	}
	createPet = &operation{
		name: OpCreatePet, method: http.MethodPost, template: "/pets", success: http.StatusCreated,
		doubt: "the pet may have been created",
	}
	getPet = &operation{
		name: OpGetPet, method: http.MethodGet, template: "/pets/{petId}", success: http.StatusOK, repeatable: true,
		removal: "2030-12-05", instead: OpListPets,
	}
	operations = []*operation{listPets, createPet, getPet}
)

// succeeds reports whether code is the documented status of a success.
func (o *operation) succeeds(code int) bool {
	return code == o.success || o.success == 0 && code/100 == 2
}

// PetStatus is the availability of a pet (section 2). The service may add statuses to the three
// declared here; the client returns an unknown status unchanged.
type PetStatus string

// The statuses of the service document (section 2).
const (
	PetStatusAvailable PetStatus = "available"
	PetStatusPending   PetStatus = "pending"
	PetStatusSold      PetStatus = "sold"
)

// statuses are those that the service document declares.
var statuses = [...]PetStatus{PetStatusAvailable, PetStatusPending, PetStatusSold}

// Valid reports whether s is one of the statuses of the service document. The empty status is not.
func (s PetStatus) Valid() bool { return slices.Contains(statuses[:], s) }

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

// MaxListLimit is the largest [ListPetsParams.Limit] (section 4.1).
const MaxListLimit = 100

// ListPetsParams has the parameters of [Client.ListPets]. A zero field is not sent, so the zero
// value asks for the service's default, 20 pets of any status.
type ListPetsParams struct {
	// Limit is the largest number of pets to return, from 1 to [MaxListLimit].
	Limit int
	// Status selects the pets with this status.
	Status PetStatus
}

// ListPetsResult is the result of [Client.ListPets].
type ListPetsResult struct {
	// Pets is never nil. The document does not define the order of the pets.
	Pets []Pet
	Response
}

// CreatePetResult is the result of [Client.CreatePet].
type CreatePetResult struct {
	// Pet is the pet as the service stored it.
	Pet Pet
	Response
}

// GetPetResult is the result of [Client.GetPet].
type GetPetResult struct {
	// Pet is the pet that was asked for.
	Pet Pet
	Response
}

// ListPets lists pets (section 4.1). The service offers no way to get the pets beyond the limit.
// The package documentation has the types of errors of all methods.
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

// CreatePet adds a pet (section 4.2). It is not idempotent, and the service has no idempotency key:
// therefore the client never repeats a request that the service may have carried out; the error
// then matches [ErrOutcomeUnknown]. After any other error the pet was not created.
func (c *Client) CreatePet(ctx context.Context, pet NewPet, opts ...CallOption) (*CreatePetResult, error) {
	if err := pet.validate(); err != nil {
		return nil, err
	}
	r := request{operation: createPet, body: pet.encode()}
	created, response, err := perform(ctx, c, r, opts, decodePet)
	if err != nil {
		return nil, err
	}
	return &CreatePetResult{created, response}, nil
}

// GetPet fetches one pet (section 4.3). The error matches [ErrNotFound] if there is no such pet.
//
// Deprecated: the service removes this operation on 5 December 2030. Use [Client.ListPets] with a
// status filter instead.
func (c *Client) GetPet(ctx context.Context, id int64, opts ...CallOption) (*GetPetResult, error) {
	r := request{operation: getPet, id: id}
	decode := func(b *body.Buffer) (Pet, error) {
		pet, err := decodePet(b)
		if err == nil && pet.ID != id {
			err = fmt.Errorf("id is %d instead of %d", pet.ID, id)
		}
		return pet, err
	}
	pet, response, err := perform(ctx, c, r, opts, decode)
	if err != nil {
		return nil, err
	}
	return &GetPetResult{pet, response}, nil
}

// validate refuses what the document rules out (section 4.1), before it costs a request.
func (p ListPetsParams) validate() error {
	if p.Limit < 0 || p.Limit > MaxListLimit {
		return argumentError(OpListPets, "Limit", "must be 1 to 100, or 0 for the service's default")
	}
	return validateStatus(OpListPets, p.Status)
}

// query returns the query of the URL; empty if no parameter is set.
func (p ListPetsParams) query() string {
	query := ""
	if p.Limit != 0 {
		query = "&limit=" + strconv.Itoa(p.Limit)
	}
	if p.Status != "" {
		// The method validate allows three statuses, and none of them needs escaping.
		query += "&status=" + string(p.Status)
	}
	return strings.TrimPrefix(query, "&")
}

// validate refuses what the document rules out (section 2), before it costs a request.
func (p NewPet) validate() error {
	switch {
	case p.Name == "":
		return argumentError(OpCreatePet, "Name", "is empty")
	case !utf8.ValidString(p.Name):
		return argumentError(OpCreatePet, "Name", "is not valid UTF-8")
	}
	return validateStatus(OpCreatePet, p.Status)
}

// encode returns the body of createPet for a valid pet.
func (p NewPet) encode() []byte {
	b := make([]byte, 0, len(`{"name":"","categoryId":-9223372036854775808,"status":"available"}`)+len(p.Name))
	// AppendQuote could fail only for invalid UTF-8, which validate has refused. Unlike encoding/json,
	// it does not escape what is special only in HTML.
	b, _ = jsontext.AppendQuote(append(b, `{"name":`...), p.Name)
	b = strconv.AppendInt(append(b, `,"categoryId":`...), p.CategoryID, 10)
	if p.Status != "" {
		b = append(append(append(b, `,"status":"`...), p.Status...), '"')
	}
	return append(b, '}')
}

// validateStatus refuses a status that the document does not declare. The empty one is allowed: it
// is not sent.
func validateStatus(operation string, s PetStatus) error {
	if s != "" && !s.Valid() {
		return argumentError(operation, "Status", "is none of available, pending, sold")
	}
	return nil
}

// decodePets decodes the body of listPets: an array of Pet, never nil.
func decodePets(b *body.Buffer) ([]Pet, error) {
	// A short Pet and its name have about this many bytes: they tell how much memory to take.
	const petBytes, nameBytes = 48, 8
	pets := make([]Pet, 0, min(len(b.Bytes)/petBytes+1, MaxListLimit))
	var names strings.Builder
	names.Grow(cap(pets) * nameBytes)
	d := b.Open()
	err := body.Delimiter(d, '[')
	for err == nil && d.PeekKind() != ']' {
		pets = append(pets, Pet{})
		err = readPet(d, &pets[len(pets)-1], &names)
	}
	if err == nil {
		err = body.Delimiter(d, ']')
	}
	return pets, body.Finish(d, err)
}

// decodePet decodes a body that is a Pet.
func decodePet(b *body.Buffer) (Pet, error) {
	var pet Pet
	d := b.Open()
	err := readPet(d, &pet, new(strings.Builder))
	return pet, body.Finish(d, err)
}

// readPet reads a Pet. It refuses a required field that is missing or null, and skips unknown
// fields, so that the service may add some. Field names are case-sensitive. The decoder itself
// refuses duplicate field names and invalid UTF-8, because parsers of JSON treat these differently.
// The bytes of short pet names are appended to names, so that one allocation serves many pets.
func readPet(d *jsontext.Decoder, pet *Pet, names *strings.Builder) error {
	var id, name, category bool // the required fields (section 2)
	err := body.Object(d, func(field []byte) (known bool, err error) {
		switch string(field) {
		case "id":
			id = true
			pet.ID, err = body.Int(d)
		case "name":
			name = true
			field, err = body.Text(d)
			pet.Name = nameOf(field, names)
		case "categoryId":
			category = true
			pet.CategoryID, err = body.Int(d)
		case "status":
			pet.Status, err = readStatus(d)
		default:
			return false, nil
		}
		return true, err
	})
	switch {
	case err != nil:
		return err
	case !id:
		return errors.New("id is missing")
	case !name:
		return errors.New("name is missing")
	case !category:
		return errors.New("categoryId is missing")
	}
	return nil
}

// nameOf returns a name as a string. Short names of a list share one piece of memory, so a program
// that keeps one pet keeps the names of all. Therefore long names get memory of their own.
func nameOf(text []byte, names *strings.Builder) string {
	// The limit is in bytes: the shorter names of 100 pets take less than two pages of memory.
	if len(text) > 64 {
		return string(text)
	}
	start := names.Len()
	names.Write(text)
	return names.String()[start:]
}

// readStatus reads a status. If it is one of the document, it returns the constant, which saves an
// allocation for each Pet.
func readStatus(d *jsontext.Decoder) (PetStatus, error) {
	name, err := body.OptionalText(d)
	for _, known := range statuses {
		if string(name) == string(known) {
			return known, nil
		}
	}
	return PetStatus(name), err
}

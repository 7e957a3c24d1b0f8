package petstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json" // it does not escape what is only special in HTML

	"github.com/petstore/petstore-go/internal/body"
	"github.com/petstore/petstore-go/internal/credential"
	"github.com/petstore/petstore-go/internal/safetext"
)

// operation is an operation of the service (section 4), or a request of Do.
type operation struct {
	name       string // operationId of the document
	method     string
	template   string // path template below the base URL
	success    int    // documented status; 0 for any 2xx
	repeatable bool   // a repetition has no further effect
}

func (o *operation) succeeds(code int) bool {
	return code == o.success || o.success == 0 && code/100 == 2
}

// The operations of the service (section 4), as the Operation fields of errors and of [Call] name
// them.
const (
	OpListPets  = "listPets"
	OpCreatePet = "createPet"
	OpGetPet    = "getPet"
)

// opDo begins the names of the operations of Do: "do GET".
const opDo = "do "

var (
	listPets  = &operation{OpListPets, http.MethodGet, "/pets", http.StatusOK, true}
	createPet = &operation{OpCreatePet, http.MethodPost, "/pets", http.StatusCreated, false}
	getPet    = &operation{OpGetPet, http.MethodGet, "/pets/{petId}", http.StatusOK, true}
)

// writes reports whether a request of the operation with that name must not be sent twice.
func writes(name string) bool {
	return name == OpCreatePet || strings.HasPrefix(name, opDo) && name != opDo+http.MethodGet
}

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
	encoded, _ := jsonv2.Marshal(&pet) // it fails only for invalid UTF-8, which validate refuses
	r := request{operation: createPet, body: encoded}
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
	r := request{operation: getPet, path: "/pets/" + strconv.FormatInt(id, 10)}
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

func (p ListPetsParams) validate() error {
	if p.Limit < 0 || p.Limit > MaxListLimit {
		return argumentError(OpListPets, "Limit", "must be 1 to 100, or 0 for the service's default")
	}
	return validateStatus(OpListPets, p.Status)
}

func (p ListPetsParams) query() string {
	query := ""
	if p.Limit != 0 {
		query = "&limit=" + strconv.Itoa(p.Limit)
	}
	if p.Status != "" {
		query += "&status=" + string(p.Status) // validate allows three statuses; none needs escaping
	}
	return strings.TrimPrefix(query, "&")
}

func (p NewPet) validate() error {
	switch {
	case p.Name == "":
		return argumentError(OpCreatePet, "Name", "is empty")
	case !utf8.ValidString(p.Name):
		return argumentError(OpCreatePet, "Name", "is not valid UTF-8")
	}
	return validateStatus(OpCreatePet, p.Status)
}

func validateStatus(operation string, s PetStatus) error {
	if s != "" && !s.Valid() {
		return argumentError(operation, "Status", safetext.Quote(string(s))+" is none of available, pending, sold")
	}
	return nil
}

// Do sends a request that the SDK has no method for, below the base URL, with the client's key,
// limiter and rules: a GET is repeated, everything else is sent once and may match
// [ErrOutcomeUnknown]; after any other error the service did not carry out the request. method is
// GET, POST, PUT, PATCH or DELETE. path must be escaped, as by [net/url.PathEscape], and may have a
// query: "pets/7?full=true". in is encoded as JSON unless nil; the body of a 2xx is decoded into
// out unless nil: into a *[]byte or *[encoding/json.RawMessage] unchanged. A 204 leaves out as it
// is.
//
// The Operation of its errors is "do " and the method, and [Call].Template ends in /{path}, so that
// logs and metrics have few different values.
func (c *Client) Do(
	ctx context.Context, method, path string, in, out any, opts ...CallOption,
) (*Response, error) {
	op := &operation{name: opDo + method, method: method, template: "/{path}", repeatable: method == http.MethodGet}
	path, query, _ := strings.Cut(path, "?")
	below, problem := credential.PathBelow(path, query)
	encoded, failed := json.Marshal(in) // the text of its error may have a part of in
	target := reflect.ValueOf(out)
	switch {
	case !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, method):
		return nil, argumentError("do", "method", "is not GET, POST, PUT, PATCH or DELETE")
	case problem != "":
		return nil, argumentError(op.name, "path", problem)
	case out != nil && (target.Kind() != reflect.Pointer || target.IsNil()):
		return nil, argumentError(op.name, "out", "is not a pointer")
	case in != nil && op.repeatable:
		return nil, argumentError(op.name, "in", "is set, but a GET has no body")
	case failed != nil:
		return nil, argumentError(op.name, "in", "cannot be encoded as JSON")
	}
	r := request{operation: op, path: below, rawPath: "/" + strings.TrimPrefix(path, "/"), query: query}
	if in != nil {
		r.body = encoded
	}
	_, response, err := perform(ctx, c, r, opts, decodeInto(out))
	if err != nil {
		return nil, err
	}
	return &response, nil
}

// decodeInto returns a function that decodes a body into out; nil if out is nil.
func decodeInto(out any) func(*body.Buffer) (struct{}, error) {
	if out == nil {
		return nil
	}
	return func(b *body.Buffer) (struct{}, error) {
		if raw, ok := out.(*[]byte); ok {
			*raw = bytes.Clone(b.Bytes)
			return struct{}{}, nil
		}
		return struct{}{}, json.Unmarshal(b.Bytes, out)
	}
}

package petstore

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The operations of the service (section 4), as the Operation fields of errors and of [Call] name
// them.
const (
	OpListPets  = "listPets"
	OpCreatePet = "createPet"
	OpGetPet    = "getPet"
)

// operations has a row for each operation, by its name.
var operations = map[string]*operation{
	OpListPets: {name: OpListPets, method: http.MethodGet, template: "/pets", success: http.StatusOK},
	OpCreatePet: {
		name: OpCreatePet, method: http.MethodPost, template: "/pets", success: http.StatusCreated,
		doubt: "the pet may have been created",
	},
	OpGetPet: {
		name: OpGetPet, method: http.MethodGet, template: "/pets/{petId}", success: http.StatusOK,
		removal: "2030-12-05", instead: OpListPets,
	},
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

// Valid reports whether s is one of the statuses of the service document. The empty status is not.
func (s PetStatus) Valid() bool {
	return s == PetStatusAvailable || s == PetStatusPending || s == PetStatusSold
}

// NewPet is a pet to be added (section 2).
type NewPet struct {
	// Name is required: a non-empty string of valid UTF-8.
	Name string `json:"name"`
	// CategoryID is required and always sent; 0 is a valid category.
	CategoryID int64 `json:"categoryId"`
	// Status is optional. The empty status is not sent; the document does not say which status the
	// pet then gets. A status need not be Valid: a later version of the service may have more.
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
// The package documentation lists the types of errors that all methods return.
func (c *Client) ListPets(ctx context.Context, params ListPetsParams, opts ...CallOption) (*ListPetsResult, error) {
	if params.Limit < 0 || params.Limit > MaxListLimit {
		return nil, &ArgumentError{OpListPets, "Limit", "must be 1 to 100, or 0 for the service's default"}
	}
	query := url.Values{}
	if params.Limit != 0 {
		query.Set("limit", strconv.Itoa(params.Limit))
	}
	if params.Status != "" {
		query.Set("status", string(params.Status))
	}
	const defaultLimit = 20
	result := &ListPetsResult{Pets: make([]Pet, 0, cmp.Or(params.Limit, defaultLimit))}
	r := request{operation: operations[OpListPets], path: "/pets", query: query.Encode(), decode: result.decode}
	if err := c.do(ctx, r, opts, &result.Response); err != nil {
		return nil, err
	}
	return result, nil
}

// CreatePet adds a pet (section 4.2). It is not idempotent, and the service has no idempotency key:
// therefore, if the service may have carried out the request, the client does not repeat it, and
// the error matches [ErrOutcomeUnknown]. After any other error the pet was not created.
func (c *Client) CreatePet(ctx context.Context, pet NewPet, opts ...CallOption) (*CreatePetResult, error) {
	switch {
	case pet.Name == "":
		return nil, &ArgumentError{OpCreatePet, "Name", "is empty"}
	case !utf8.ValidString(pet.Name):
		return nil, &ArgumentError{OpCreatePet, "Name", "is not valid UTF-8"}
	case !utf8.ValidString(string(pet.Status)):
		return nil, &ArgumentError{OpCreatePet, "Status", "is not valid UTF-8"}
	}
	body, _ := jsonv2.Marshal(pet) // only invalid UTF-8 could fail
	result := &CreatePetResult{}
	r := request{operation: operations[OpCreatePet], path: "/pets", body: body, decode: result.Pet.decode}
	if err := c.do(ctx, r, opts, &result.Response); err != nil {
		return nil, err
	}
	return result, nil
}

// GetPet fetches one pet (section 4.3). The error matches [ErrNotFound] if there is no such pet.
//
// Deprecated: the service removes this operation on 5 December 2030. Use [Client.ListPets] with a
// status filter instead.
func (c *Client) GetPet(ctx context.Context, id int64, opts ...CallOption) (*GetPetResult, error) {
	result := &GetPetResult{}
	r := request{operation: operations[OpGetPet], path: "/pets/" + strconv.FormatInt(id, 10), decode: result.Pet.decode}
	if err := c.do(ctx, r, opts, &result.Response); err != nil {
		return nil, err
	}
	return result, nil
}

// decode decodes a body that is a Pet.
func (p *Pet) decode(body []byte) error { return jsonv2.Unmarshal(body, p, withReadPet) }

// decode decodes a body that is an array of Pet.
func (r *ListPetsResult) decode(body []byte) error {
	err := jsonv2.Unmarshal(body, &r.Pets, withReadPet)
	if r.Pets == nil {
		return errors.New("is null instead of an array")
	}
	return err
}

// withReadPet makes Unmarshal use readPet, because Unmarshal alone does not report a missing field.
// Pointers for required fields would report it, too, but cost a tenth more for a list of 20 in make
// bench.
var withReadPet = jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(readPet))

// readPet reads a Pet (section 2). It skips unknown fields, so that the service may add some. The
// decoder refuses invalid UTF-8, and an object that has a name twice, because different JSON
// parsers read such a text differently.
func readPet(d *jsontext.Decoder, pet *Pet) error {
	var id, name, category bool // whether the field has a valid value
	status := true              // true at first: status may be missing, or null
	brace, err := d.ReadToken()
	if err == nil && brace.Kind() != '{' {
		err = errors.New("a pet is not an object")
	}
	for err == nil && d.PeekKind() != '}' {
		field, invalid := d.ReadToken()
		if invalid != nil {
			return invalid
		}
		switch field.String() {
		case "id":
			id, err = readInt(d, &pet.ID)
		case "name":
			name, err = readText(d, &pet.Name)
		case "categoryId":
			category, err = readInt(d, &pet.CategoryID)
		case "status":
			isNull := d.PeekKind() == 'n'
			status, err = readText(d, (*string)(&pet.Status))
			status = status || isNull
		default:
			err = d.SkipValue()
		}
	}
	if err != nil {
		return err
	}
	if id && name && category && status {
		_, err = d.ReadToken() // the closing brace
		return err
	}
	wrong := cmp.Or(when(!id, "id"), when(!name, "name"), when(!category, "categoryId"), "status")
	return errors.New(wrong + " is missing, of a wrong type, or out of range")
}

// readInt reads an int64; ok is false if the value is none.
func readInt(d *jsontext.Decoder, n *int64) (ok bool, err error) {
	if d.PeekKind() != '0' {
		return false, d.SkipValue()
	}
	token, err := d.ReadToken()
	if err != nil {
		return false, err
	}
	*n, err = token.Int()
	return err == nil, nil
}

// readText reads a string; ok is false if the value is no string.
func readText(d *jsontext.Decoder, text *string) (ok bool, err error) {
	if d.PeekKind() != '"' {
		return false, d.SkipValue()
	}
	token, err := d.ReadToken()
	*text = token.String()
	return true, err
}

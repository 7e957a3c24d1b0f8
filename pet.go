package petstore

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/petstore/petstore-go/internal/body"
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

// decodePets decodes the body of listPets: an array of Pet, never nil.
func decodePets(b *body.Buffer) ([]Pet, error) {
	const petBytes = 48 // length of a short Pet, to estimate their number
	pets := make([]Pet, 0, min(len(b.Bytes)/petBytes+1, MaxListLimit))
	d := b.Open()
	err := body.Delimiter(d, '[')
	for err == nil && d.PeekKind() != ']' {
		pets = append(pets, Pet{})
		err = readPet(d, &pets[len(pets)-1])
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
	err := readPet(d, &pet)
	return pet, body.Finish(d, err)
}

// readPet reads a Pet. The decoder refuses duplicate names and invalid UTF-8, which parsers of JSON
// treat differently. readPet refuses a required field that is missing or null; names are
// case-sensitive. It skips unknown fields, so that the service may add some.
func readPet(d *jsontext.Decoder, pet *Pet) error {
	var id, name, category bool // the required fields (section 2)
	err := body.Object(d, func(field []byte) (err error) {
		switch string(field) {
		case "id":
			id = true
			pet.ID, err = body.Int(d)
		case "name":
			name = true
			pet.Name, err = body.String(d)
		case "categoryId":
			category = true
			pet.CategoryID, err = body.Int(d)
		case "status":
			pet.Status, err = readStatus(d)
		default:
			err = d.SkipValue()
		}
		return err
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

// readStatus reads a status. For those of the document it returns the constant, which saves one
// allocation for each Pet.
func readStatus(d *jsontext.Decoder) (PetStatus, error) {
	name, err := body.Bytes(d)
	for _, known := range statuses {
		if string(name) == string(known) {
			return known, nil
		}
	}
	return PetStatus(name), err
}

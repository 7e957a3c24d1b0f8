package petstore

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// encodeNewPet is the body of createPet: categoryId always, status only if there is one (section 2).
func encodeNewPet(p NewPet) []byte {
	b := make([]byte, 0, len(p.Name)+80)
	b = append(b, `{"name":`...)
	b, _ = jsontext.AppendQuote(b, p.Name) // validate has seen that it is UTF-8
	b = append(b, `,"categoryId":`...)
	b = strconv.AppendInt(b, p.CategoryID, 10)
	if p.Status != "" {
		b = append(b, `,"status":"`+p.Status+`"`...) // one of three
	}
	return append(b, '}')
}

// mediaTypeFault says what is wrong with the Content-Type of an answer that must be JSON.
func mediaTypeFault(h http.Header) string {
	contentType := h.Get("Content-Type")
	if h.Get("Content-Encoding") != "" {
		return "Content-Encoding was not asked for"
	}
	if contentType == "application/json" {
		return "" // nearly always
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter):
		return "no valid Content-Type"
	case mediaType != "application/json":
		return "Content-Type is " + quote(mediaType) + ", not application/json"
	}
	return ""
}

// decodePets decodes the body of listPets: an array of Pet, never nil.
func decodePets(body []byte) ([]Pet, error) {
	const petBytes = 48 // about what a Pet takes, to guess how many there are
	pets := make(wirePets, 0, min(len(body)/petBytes+1, MaxLimit))
	err := json.Unmarshal(body, &pets)
	return pets, err
}

// decodePet decodes the body of createPet and getPet.
func decodePet(body []byte) (Pet, error) {
	var pet wirePet
	err := json.Unmarshal(body, &pet)
	return Pet(pet), err
}

// decodeError returns code and message of an Error object, and empty strings of anything else: what
// stands in a 502 is up to whoever answered it.
func decodeError(body []byte) (code, message string) {
	var e wireError
	if json.Unmarshal(body, &e) != nil {
		return "", ""
	}
	return e.code, e.message
}

// The wire types read their fields themselves. The decoder refuses what JSON leaves to taste, duplicate names
// and invalid UTF-8; they refuse names in another case, and null or nothing for a required field.
type (
	wirePets  []Pet
	wirePet   Pet
	wireError struct{ code, message string }
)

// UnmarshalJSONFrom reads an array of Pet.
func (w *wirePets) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if err := expect(d, '['); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		*w = append(*w, Pet{})
		if err := (*wirePet)(&(*w)[len(*w)-1]).UnmarshalJSONFrom(d); err != nil {
			return err
		}
	}
	return expect(d, ']')
}

// The fields of a Pet that the document requires (section 2).
const (
	petID = 1 << iota
	petName
	petCategoryID
	petRequired = petID | petName | petCategoryID
)

// UnmarshalJSONFrom reads a Pet. It passes over unknown fields, so that the service may grow.
func (w *wirePet) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	seen := 0
	err := readObject(d, func(name []byte) (err error) {
		switch string(name) {
		case "id":
			seen |= petID
			w.ID, err = readInt(d)
		case "name":
			seen |= petName
			w.Name, err = readString(d, required)
		case "categoryId":
			seen |= petCategoryID
			w.CategoryID, err = readInt(d)
		case "status":
			w.Status, err = readStatus(d)
		default:
			err = d.SkipValue()
		}
		return err
	})
	if err == nil && seen != petRequired {
		return errors.New(missing(seen))
	}
	return err
}

func missing(seen int) string {
	switch {
	case seen&petID == 0:
		return "id is missing"
	case seen&petName == 0:
		return "name is missing"
	}
	return "categoryId is missing"
}

// UnmarshalJSONFrom reads an Error object as far as it is one.
func (w *wireError) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return readObject(d, func(name []byte) (err error) {
		switch string(name) {
		case "code":
			w.code, err = readString(d, optional)
		case "message":
			w.message, err = readString(d, optional)
		default:
			err = d.SkipValue()
		}
		return err
	})
}

// readObject calls field for each name, which is valid until field reads the value.
func readObject(d *jsontext.Decoder, field func(name []byte) error) error {
	if err := expect(d, '{'); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		if err != nil {
			return err
		}
		if err := field(unquoted(name)); err != nil {
			return err
		}
	}
	return expect(d, '}')
}

func readInt(d *jsontext.Decoder) (int64, error) {
	v, err := d.ReadValue()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(v), 10, 64) // JSON knows no plus sign and no leading zero
	if err != nil {
		return 0, errors.New("not an int64")
	}
	return n, nil
}

// Whether null may stand for a string.
const (
	required = false
	optional = true
)

func readString(d *jsontext.Decoder, orNull bool) (string, error) {
	v, err := d.ReadValue()
	switch {
	case err != nil:
		return "", err
	case v.Kind() == '"':
		return string(unquoted(v)), nil
	case v.Kind() == 'n' && orNull:
		return "", nil
	}
	return "", errors.New("not a string")
}

// readStatus saves an allocation for the statuses of the document.
func readStatus(d *jsontext.Decoder) (PetStatus, error) {
	if d.PeekKind() != '"' {
		s, err := readString(d, optional)
		return PetStatus(s), err
	}
	v, err := d.ReadValue()
	if err != nil {
		return "", err
	}
	switch name := unquoted(v); string(name) {
	case string(PetStatusAvailable):
		return PetStatusAvailable, nil
	case string(PetStatusPending):
		return PetStatusPending, nil
	case string(PetStatusSold):
		return PetStatusSold, nil
	default:
		return PetStatus(name), nil
	}
}

// unquoted is the text of a JSON string, without a copy unless it has an escape.
func unquoted(v jsontext.Value) []byte {
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	b, _ := jsontext.AppendUnquote(nil, v) // the decoder has checked it
	return b
}

// expect reads a delimiter.
func expect(d *jsontext.Decoder, kind jsontext.Kind) error {
	if k := d.PeekKind(); k != kind && k != 0 {
		return fmt.Errorf("found %v where %v is due", k, kind)
	}
	_, err := d.ReadToken()
	return err
}

package petstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/petstore/petstore-go/internal/decimal"
	"github.com/petstore/petstore-go/internal/errtext"
)

// encodeNewPet returns the body of createPet. It always has categoryId; an empty status is left out
// (section 2).
func encodeNewPet(p NewPet) []byte {
	b := make([]byte, 0, len(p.Name)+80)
	b = append(b, `{"name":`...)
	b, _ = jsontext.AppendQuote(b, p.Name) // it fails only for invalid UTF-8, which validate refuses
	b = append(b, `,"categoryId":`...)
	b = strconv.AppendInt(b, p.CategoryID, 10)
	if p.Status != "" {
		b = append(b, `,"status":"`+p.Status+`"`...) // validate allows three words
	}
	return append(b, '}')
}

// mediaTypeFault returns what is wrong with the media type of a response that must be JSON; empty
// if nothing is.
func mediaTypeFault(h http.Header) string {
	// "identity" means that there is no encoding.
	if e := h["Content-Encoding"]; len(e) > 0 && e[0] != "" && !strings.EqualFold(e[0], "identity") {
		return "Content-Encoding was not requested"
	}
	if t := h["Content-Type"]; len(t) > 0 && t[0] == "application/json" {
		return "" // without the parser, for most responses
	}
	mediaType, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	switch {
	case err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter):
		return "Content-Type is missing or invalid"
	case mediaType != "application/json":
		return "Content-Type is " + errtext.Quote(mediaType) + ", not application/json"
	}
	return ""
}

// decodePets decodes the body of listPets: an array of Pet, never nil.
func decodePets(b *buffer) ([]Pet, error) {
	const petBytes = 48 // length of a short Pet, to estimate their number
	pets := make([]Pet, 0, min(len(b.bytes)/petBytes+1, MaxLimit))
	d := b.open(b.bytes, b.rest...)
	err := expect(d, '[')
	for err == nil && d.PeekKind() != ']' {
		if n := len(pets); n == cap(pets) { // more than the document allows: estimate the total
			total := float64(n) * float64(b.size()) / float64(d.InputOffset())
			pets = slices.Grow(pets, max(int(total)-n, n/4)+1)
		}
		pets = append(pets, Pet{})
		err = readPet(d, &pets[len(pets)-1])
	}
	if err == nil {
		err = expect(d, ']')
	}
	return pets, finish(d, err)
}

// decodePet decodes the body of createPet and getPet.
func decodePet(b *buffer) (Pet, error) {
	var pet Pet
	d := b.open(b.bytes, b.rest...)
	err := readPet(d, &pet)
	return pet, finish(d, err)
}

// decodePetWithID decodes the body of getPet, and checks that it is the pet with this id.
func decodePetWithID(b *buffer, id int64) (Pet, error) {
	pet, err := decodePet(b)
	if err == nil && pet.ID != id {
		err = fmt.Errorf("id is %d instead of %d", pet.ID, id)
	}
	return pet, err
}

// maxErrorObject is the size of the longest body that is decoded as an Error object, in bytes. A
// real one has less than 1 KiB, and decoding needs a second copy of the body in memory.
const maxErrorObject = 1 << 20

// decodeError returns code and message of an Error object. It returns empty strings for any other
// body: a 502, for example, often comes from a gateway, with a body in HTML.
func decodeError(b *buffer, body []byte) (code, message string) {
	if len(body) > maxErrorObject {
		return "", ""
	}
	d := b.open(body)
	err := readObject(d, func(name []byte) (err error) {
		switch string(name) {
		case "code":
			code, err = readString(d, optional)
		case "message":
			message, err = readString(d, optional)
		default:
			err = d.SkipValue()
		}
		return err
	})
	if finish(d, err) != nil {
		return "", ""
	}
	return code, message
}

// finish returns err with its offset in the body, or an error if data follows the decoded value. The
// decoder's JSON pointer has names from the body, escaped in its own way: it may contain the key.
func finish(d *jsontext.Decoder, err error) error {
	if err == nil {
		if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		}
		return fmt.Errorf("data after top-level value, at offset %d", d.InputOffset())
	}
	offset := d.InputOffset()
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		err, offset = syntactic.Err, syntactic.ByteOffset
	}
	return fmt.Errorf("%w, at offset %d", err, offset)
}

// The fields of a Pet that the document requires (section 2).
const (
	petID = 1 << iota
	petName
	petCategoryID
	petRequired = petID | petName | petCategoryID
)

// readPet reads a Pet. The decoder refuses duplicate names and invalid UTF-8, which parsers of JSON
// treat differently. readPet refuses a required field that is missing or null; names are
// case-sensitive. It skips unknown fields, so that the service may add some.
func readPet(d *jsontext.Decoder, pet *Pet) error {
	seen := 0
	err := readObject(d, func(name []byte) (err error) {
		switch string(name) {
		case "id":
			seen |= petID
			pet.ID, err = readInt(d)
		case "name":
			seen |= petName
			pet.Name, err = readString(d, required)
		case "categoryId":
			seen |= petCategoryID
			pet.CategoryID, err = readInt(d)
		case "status":
			pet.Status, err = readStatus(d)
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

// readObject reads an object and calls field for each name. The name is valid until field reads the
// value.
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
	if n, ok := decimal.Parse(v, decimal.Max); ok {
		return n, nil
	}
	n, err := strconv.ParseInt(string(v), 10, 64) // the decoder refuses plus signs and leading zeros
	if err != nil {
		return 0, errors.New("not an int64")
	}
	return n, nil
}

// Whether a string may be null instead.
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

// readStatus reads a status. For those of the document it returns the constant, which saves one
// allocation for each Pet.
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

// unquoted returns the text of a JSON string. It copies the text only if it has an escape.
func unquoted(v jsontext.Value) []byte {
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	b, _ := jsontext.AppendUnquote(nil, v) // the decoder has checked v
	return b
}

// expect reads a delimiter.
func expect(d *jsontext.Decoder, kind jsontext.Kind) error {
	t, err := d.ReadToken()
	if err == nil && t.Kind() != kind {
		return fmt.Errorf("found %v instead of %v", t.Kind(), kind)
	}
	return err
}

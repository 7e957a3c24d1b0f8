package fake

import (
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	petstore "github.com/petstore/petstore-go"
)

// createPet serves POST /pets (section 4.2).
func (s *Server) createPet(x *exchange) response {
	x.noteParameters(x.req.URL.Query())
	p, err := readNewPet(x)
	if err != nil {
		return refusal(http.StatusBadRequest, "createPet: %v (section 4.2)", err)
	}
	pet := s.AddPet(p)
	return response{status: http.StatusCreated, contentType: mediaJSON, body: encode(newWirePet(pet))}
}

func readNewPet(x *exchange) (petstore.NewPet, error) {
	if err := checkMediaType(x.req.Header); err != nil {
		return petstore.NewPet{}, err
	}
	switch {
	case x.bodyErr != nil:
		return petstore.NewPet{}, x.bodyErr
	case len(x.body) == 0:
		return petstore.NewPet{}, errors.New("the request body is missing; it must be a NewPet object")
	}
	pet, unknown, err := parseNewPet("the request body", x.body)
	for _, f := range unknown {
		x.note(RuleUnknownField, "2", noSuchField(f))
	}
	if err == nil && pet.CategoryID == 0 && x.srv.config.strict {
		x.note(RuleZeroCategory, "2",
			"categoryId is 0, a legal value, or a field that was missing in what the program decoded")
	}
	return pet, err
}

func noSuchField(name string) string { return "NewPet has no field " + quote(name) }

// NewPet reads the body of a createPet request as the server does (section 4.2).
func (r Request) NewPet() (petstore.NewPet, error) {
	pet, _, err := parseNewPet("the request body", r.Body)
	if err != nil {
		return petstore.NewPet{}, fmt.Errorf("fake: request #%d: %w", r.Seq, err)
	}
	return pet, nil
}

// parseNewPet reads a NewPet object (section 2), and returns the fields that it does not know.
func parseNewPet(what string, text []byte) (pet petstore.NewPet, unknown []string, err error) {
	if err := checkJSON(text); err != nil {
		return pet, nil, fmt.Errorf("%s is not acceptable: %w", what, err)
	}
	d := newDecoder(text) // of a text that is JSON, so that it returns no error
	if k := d.PeekKind(); k != '{' {
		return pet, nil, fmt.Errorf("%s is %s; it must be an object", what, kind(k))
	}
	_, _ = d.ReadToken()
	seen := make(map[string]bool, 4)
	for d.PeekKind() != '}' {
		name, _ := d.ReadToken()
		field := name.String() // before name's bytes are gone
		value, _ := d.ReadValue()
		if seen[field] {
			return pet, nil, fmt.Errorf("the field %s is given twice", quote(field))
		}
		seen[field] = true
		known, err := readField(&pet, field, value)
		if err != nil {
			return pet, nil, err
		}
		if !known && len(unknown) < maxNotes {
			unknown = append(unknown, field)
		}
	}
	return pet, unknown, missing(seen["name"], seen["categoryId"])
}

// checkMediaType refuses a body that does not say it is JSON, or that is compressed.
func checkMediaType(h http.Header) error {
	ct := h.Get("Content-Type")
	media, _, err := mime.ParseMediaType(ct)
	switch {
	case ct == "":
		return errors.New("the Content-Type header is missing; it must be application/json")
	case err != nil || media != mediaJSON:
		return fmt.Errorf("the Content-Type is %s; it must be application/json", quote(ct))
	}
	if enc := h.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return fmt.Errorf("the Content-Encoding is %s; the server takes none", quote(enc))
	}
	return nil
}

// readField reads a field of a NewPet, and reports whether NewPet has it.
func readField(pet *petstore.NewPet, name string, value jsontext.Value) (known bool, err error) {
	k := value.Kind()
	switch {
	case name == "name" && k != '"', name == "status" && k != '"' && k != 'n':
		err = fmt.Errorf("%s is %s; it must be a string", name, kind(k))
	case name == "name":
		if pet.Name = unquoted(value); pet.Name == "" {
			err = errors.New("name is empty; it must be a non-empty string")
		}
	case name == "categoryId":
		pet.CategoryID, err = readCategory(value)
	case name == "status" && k == '"': // null is as if it was left out
		pet.Status, err = readStatus(unquoted(value))
	default:
		return name == "status", nil
	}
	return true, err
}

func readCategory(value jsontext.Value) (int64, error) {
	if k := value.Kind(); k != '0' {
		return 0, fmt.Errorf("categoryId is %s; it must be an integer", kind(k))
	}
	digits := string(value)
	id, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("categoryId is %s; an int64 lies between %d and %d",
			clip(digits), int64(math.MinInt64), int64(math.MaxInt64))
	case err != nil:
		return 0, fmt.Errorf("categoryId is %s; it must be an integer without fraction or exponent", clip(digits))
	}
	return id, nil
}

func missing(name, category bool) error {
	switch {
	case !name && !category:
		return errors.New("the required fields name and categoryId are missing")
	case !name:
		return errors.New("the required field name is missing")
	case !category:
		return errors.New("the required field categoryId is missing")
	}
	return nil
}

// readStatus reads a status of the document (section 2). It does not ask the client's package,
// whose list is under test here.
func readStatus(s string) (petstore.PetStatus, error) {
	switch s {
	case "available", "pending", "sold":
		return petstore.PetStatus(s), nil
	}
	return "", fmt.Errorf("status is %s; it must be available, pending or sold", quote(s))
}

func kind(k jsontext.Kind) string {
	return map[jsontext.Kind]string{
		'{': "an object", '[': "an array", '"': "a string", '0': "a number",
		't': "a boolean", 'f': "a boolean", 'n': "null",
	}[k]
}

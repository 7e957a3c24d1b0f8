package fake

import (
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"slices"
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
	return response{status: http.StatusCreated, contentType: mediaJSON, body: appendPet(nil, pet)}
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

// parseNewPet reads a NewPet object, and returns the fields that it does not know.
func parseNewPet(what string, text []byte) (pet petstore.NewPet, unknown []string, err error) {
	if err := checkJSON(text); err != nil {
		return pet, nil, fmt.Errorf("%s is not acceptable: %w", what, err)
	}
	d := newDecoder(text) // of a text that is JSON, so that it returns no error
	if k := d.PeekKind(); k != '{' {
		return pet, nil, fmt.Errorf("%s is %s; it must be an object", what, kind(k))
	}
	_, _ = d.ReadToken()
	r := newPetReader{seen: make(map[string]bool, 4)}
	for d.PeekKind() != '}' {
		name, _ := d.ReadToken()
		field := name.String() // before name's bytes are gone
		value, _ := d.ReadValue()
		if err := r.read(field, value); err != nil {
			return pet, nil, err
		}
	}
	return r.pet, r.unknown, r.missing()
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

// newPetReader gathers the fields of a NewPet (section 2).
type newPetReader struct {
	pet     petstore.NewPet
	seen    map[string]bool
	unknown []string
}

func (r *newPetReader) read(name string, value jsontext.Value) error {
	if r.seen[name] {
		return fmt.Errorf("the field %s is given twice", quote(name))
	}
	r.seen[name] = true
	switch name {
	case "name":
		return r.readName(value)
	case "categoryId":
		return r.readCategory(value)
	case "status":
		return r.readStatus(value)
	}
	if len(r.unknown) < maxNotes {
		r.unknown = append(r.unknown, name)
	}
	return nil
}

func (r *newPetReader) readName(value jsontext.Value) error {
	if k := value.Kind(); k != '"' {
		return fmt.Errorf("name is %s; it must be a string", kind(k))
	}
	r.pet.Name = unquoted(value)
	if r.pet.Name == "" {
		return errors.New("name is empty; it must be a non-empty string")
	}
	return nil
}

func (r *newPetReader) readCategory(value jsontext.Value) (err error) {
	if k := value.Kind(); k != '0' {
		return fmt.Errorf("categoryId is %s; it must be an integer", kind(k))
	}
	digits := string(value)
	r.pet.CategoryID, err = strconv.ParseInt(digits, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("categoryId is %s; an int64 lies between %d and %d",
			clip(digits), int64(math.MinInt64), int64(math.MaxInt64))
	case err != nil:
		return fmt.Errorf("categoryId is %s; it must be an integer without fraction or exponent",
			clip(digits))
	}
	return nil
}

func (r *newPetReader) readStatus(value jsontext.Value) (err error) {
	switch k := value.Kind(); k {
	case 'n': // as if it was left out
	case '"':
		r.pet.Status, err = readStatus(unquoted(value))
	default:
		err = fmt.Errorf("status is %s; it must be a string", kind(k))
	}
	return err
}

func (r *newPetReader) missing() error {
	switch {
	case !r.seen["name"] && !r.seen["categoryId"]:
		return errors.New("the required fields name and categoryId are missing")
	case !r.seen["name"]:
		return errors.New("the required field name is missing")
	case !r.seen["categoryId"]:
		return errors.New("the required field categoryId is missing")
	}
	return nil
}

// statuses returns the statuses of the document (section 2), and does not ask the client's package,
// whose list is under test here.
func statuses() []string { return []string{"available", "pending", "sold"} }

// readStatus reads a status of the document. The error says what is wrong.
func readStatus(s string) (petstore.PetStatus, error) {
	if !slices.Contains(statuses(), s) {
		return "", fmt.Errorf("status is %s; it must be %s", quote(s), oneOf(statuses()))
	}
	return petstore.PetStatus(s), nil
}

func kind(k jsontext.Kind) string {
	return map[jsontext.Kind]string{
		'{': "an object", '[': "an array", '"': "a string", '0': "a number",
		't': "a boolean", 'f': "a boolean", 'n': "null",
	}[k]
}

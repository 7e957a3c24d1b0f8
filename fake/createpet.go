package fake

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
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

// parseNewPet reads a NewPet object (section 2), and returns the fields that it does not know.
func parseNewPet(what string, text []byte) (pet petstore.NewPet, unknown []string, err error) {
	var fields map[string]jsontext.Value
	err = json.Unmarshal(text, &fields)
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(bad, jsontext.ErrDuplicateName) {
			return pet, nil, fmt.Errorf("the field %s is given twice", quote(bad.JSONPointer.LastToken()))
		}
		return pet, nil, fmt.Errorf("%s is not JSON: %v, at byte %d", what, bad.Err, bad.ByteOffset)
	}
	if k := jsontext.Value(text).Kind(); k != '{' {
		return pet, nil, fmt.Errorf("%s is %s; it must be an object", what, kind(k))
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "name" && name != "categoryId" && name != "status" {
			unknown = append(unknown, name)
		}
	}
	pet, err = readFields(fields)
	return pet, unknown, err
}

func readFields(fields map[string]jsontext.Value) (pet petstore.NewPet, err error) {
	name, category, status := fields["name"], fields["categoryId"], fields["status"]
	if name != nil {
		pet.Name, err = readName(name)
	}
	if err == nil && category != nil {
		pet.CategoryID, err = readCategory(category)
	}
	if err == nil && status != nil && status.Kind() != 'n' { // null is as if it was left out
		var text string
		text, err = readString("status", status)
		if err == nil {
			pet.Status, err = readStatus(text)
		}
	}
	if err != nil {
		return petstore.NewPet{}, err
	}
	switch {
	case name == nil:
		err = errors.New("the required field name is missing")
	case category == nil:
		err = errors.New("the required field categoryId is missing")
	}
	return pet, err
}

func readString(field string, value jsontext.Value) (s string, err error) {
	if k := value.Kind(); k != '"' {
		return "", fmt.Errorf("%s is %s; it must be a string", field, kind(k))
	}
	err = json.Unmarshal(value, &s)
	return s, err
}

func readName(value jsontext.Value) (string, error) {
	name, err := readString("name", value)
	if err == nil && name == "" {
		return "", errors.New("name is empty; it must be a non-empty string")
	}
	return name, err
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

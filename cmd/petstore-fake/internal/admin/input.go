package admin

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/petstore/petstore-go/fake"
)

// Read reads a value from JSON or from the short form of JSON (see shortForm). An error of Read
// names the field, and says what is wrong with the field.
func Read[T any](text string) (value T, err error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		text = shortForm(text, reflect.TypeFor[T]())
	}
	durations := json.WithUnmarshalers(json.UnmarshalFromFunc(readDuration))
	return value, explain(json.Unmarshal([]byte(text), &value, json.RejectUnknownMembers(true), durations))
}

// ReadList reads a JSON array of values. Any other text is one value, which it reads as Read does.
func ReadList[T any](text string) ([]T, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return Read[[]T](text)
	}
	value, err := Read[T](text)
	return []T{value}, err
}

// fieldName matches a name followed by =, at the beginning of a short form or after a comma.
var fieldName = regexp.MustCompile(`(?:^|,)\s*([a-zA-Z]+)\s*=`)

// shortForm converts a text such as status=503,times=3 to JSON: {"status":503,"times":3}. A comma
// belongs to the value before it, unless a name and = follow the comma. A text that does not begin
// with a name and = becomes a JSON string. The parameter of is the type that the JSON is for.
func shortForm(text string, of reflect.Type) string {
	names := fieldName.FindAllStringSubmatchIndex(text, -1)
	if len(names) == 0 || names[0][0] > 0 {
		return quote(text)
	}
	types, _ := fieldsOf(of).(map[string]any)
	fields, end := make([]string, len(names)), len(text)
	for i, at := range slices.Backward(names) {
		name, value := text[at[2]:at[3]], strings.TrimSpace(text[at[1]:end])
		if types[name] == "string" || !jsontext.Value(value).IsValid() {
			value = quote(value)
		}
		fields[i] = quote(name) + ":" + value
		end = at[0]
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func quote(text string) string {
	quoted, _ := jsontext.AppendQuote(nil, text) // an error means only that invalid UTF-8 was replaced
	return string(quoted)
}

// readDuration reads a duration from a JSON string such as "1m30s".
func readDuration(d *jsontext.Decoder, value *time.Duration) error {
	var text string
	err := json.UnmarshalDecode(d, &text)
	if err == nil {
		*value, err = time.ParseDuration(text)
	}
	return err
}

// explain rewrites an error of json.Unmarshal for people who do not know Go.
func explain(err error) error {
	wrong, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return errors.New("it is not JSON: " + strings.TrimPrefix(err.Error(), "jsontext: "))
	case wrong.Err == json.ErrUnknownName:
		wrong.Err = errors.New("there is no such field")
	case wrong.Err == nil:
		wrong.Err = errors.New("it must be of the type " + typeName(wrong.GoType))
	}
	if wrong.JSONPointer == "" {
		return wrong.Err
	}
	return fmt.Errorf("%.64s: %w", strings.ReplaceAll(string(wrong.JSONPointer[1:]), "/", "."), wrong.Err)
}

// fieldsOf describes the JSON of a type, for the list of routes. Of a struct, it returns a map from
// the name of each field to the description of the field's type; of a fake.Wire, its values; of any
// other type, the name.
func fieldsOf(t reflect.Type) any {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		t = t.Elem()
	}
	if t == reflect.TypeFor[fake.Wire]() {
		return fake.Wires()
	}
	fields := make(map[string]any)
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = fieldsOf(t.Field(i).Type)
		}
	}
	if len(fields) == 0 {
		return typeName(t)
	}
	return fields
}

func typeName(t reflect.Type) string {
	return cmp.Or(typeNames[t.String()], typeNames[t.Kind().String()], t.Kind().String())
}

// typeNames has the types and kinds of Go that have another name in JSON, with this name.
var typeNames = map[string]string{
	"struct": "object", "slice": "array", "bool": "boolean",
	"int": "integer", "int64": "integer", "uint64": "integer", "float64": "number",
	"[]uint8": "string", "time.Duration": "duration such as 1m30s", "time.Time": "time such as 2030-12-05T00:00:00Z",
	"http.Header": `object such as {"Name":["value"]}`,
}

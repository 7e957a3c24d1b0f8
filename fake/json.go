package fake

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// encode writes a value that has no JSON methods of its own. A duration is a string such as
// "1m30s", and bytes are the text of a string.
func encode(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), json.WithMarshalers(json.JoinMarshalers(
		json.MarshalFunc(func(d time.Duration) ([]byte, error) { return json.Marshal(d.String()) }),
		json.MarshalFunc(func(b []byte) ([]byte, error) { return json.Marshal(string(b)) }),
	)))
}

// decode reads what encode writes. A field that v does not have is an error that names the field.
func decode(data []byte, v any) error {
	err := json.Unmarshal(data, v, json.RejectUnknownMembers(true), json.WithUnmarshalers(json.JoinUnmarshalers(
		fromText(time.ParseDuration),
		fromText(func(s string) ([]byte, error) { return []byte(s), nil }),
	)))
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok && wrong.Err == json.ErrUnknownName {
		return fmt.Errorf("there is no field %s", quote(wrong.JSONPointer.LastToken()))
	}
	return err
}

func fromText[T any](parse func(string) (T, error)) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *T) error {
		var text string
		err := json.UnmarshalDecode(d, &text)
		if err == nil {
			*v, err = parse(text)
		}
		return err
	})
}

// MarshalJSON writes the fields that are set, except Match, which is a function.
func (f Fault) MarshalJSON() ([]byte, error) {
	type fields Fault // without the methods
	return encode(fields(f))
}

// UnmarshalJSON reads a fault such as {"status":503,"times":3,"for":"5m"}, with -1 for [Forever]. A
// fault for which [Server.Inject] would panic is an error.
func (f *Fault) UnmarshalJSON(data []byte) error {
	type fields Fault
	return cmp.Or(decode(data, (*fields)(f)), f.problem())
}

// UnmarshalJSON reads {"perMinute":60,"perDay":1000}, or the name of a plan: "free", "pro" or
// "business".
func (p *Plan) UnmarshalJSON(data []byte) error {
	type fields Plan
	var name string
	if json.Unmarshal(data, &name) != nil {
		return cmp.Or(decode(data, (*fields)(p)), p.problem())
	}
	for plan, known := range planNames {
		if name == known {
			*p = plan
		}
	}
	return oneOf("plan", name, slices.Sorted(maps.Values(planNames)))
}

// UnmarshalJSON reads {"retryAfter":"date","removal":true}. An unknown choice is an error.
func (b *Behavior) UnmarshalJSON(data []byte) error {
	type fields Behavior
	return cmp.Or(decode(data, (*fields)(b)), b.problem())
}

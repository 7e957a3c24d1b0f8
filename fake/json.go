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

// encode writes a value without JSON methods of its own. A duration is a string such as "1m30s", and
// bytes are the text of a string.
func encode(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), json.WithMarshalers(json.JoinMarshalers(
		asText(time.Duration.String),
		asText(func(b []byte) string { return string(b) }),
	)))
}

// decode reads what encode writes. A field that v does not have is an error that names it.
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

func asText[T any](format func(T) string) *json.Marshalers {
	return json.MarshalToFunc(func(e *jsontext.Encoder, v T) error { return e.WriteToken(jsontext.String(format(v))) })
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

// MarshalJSON writes the fields that are set, but not Match, which is no data.
func (f Fault) MarshalJSON() ([]byte, error) {
	type fields Fault // without the methods
	return encode(fields(f))
}

// UnmarshalJSON reads a fault such as {"status":503,"times":3,"for":"5m"}, with the names of the
// fields of Fault in lowerCamel, and -1 for [Forever]. A field that Fault does not have is an error
// that names it, and so is a fault for which [Server.Inject] would panic.
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

// UnmarshalJSON reads {"minute":60,"day":1000} and the other fields of Usage, in lowerCamel.
func (u *Usage) UnmarshalJSON(data []byte) error {
	type fields Usage
	return decode(data, (*fields)(u))
}

// UnmarshalJSON reads a behaviour such as {"retryAfter":"date","removal":true}, with the names of the
// fields of Behavior in lowerCamel. A choice that does not exist is an error.
func (b *Behavior) UnmarshalJSON(data []byte) error {
	type fields Behavior
	return cmp.Or(decode(data, (*fields)(b)), b.problem())
}

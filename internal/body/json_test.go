package body

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMediaTypeProblem(t *testing.T) {
	for mediaType, problem := range map[string]string{
		"application/json":                "",
		"application/json; charset=utf-8": "",
		"application/json; charset":       "",
		"Application/JSON":                "",
		"":                                "Content-Type is missing or invalid",
		"a b c":                           "Content-Type is missing or invalid",
		"json":                            `Content-Type is "json", not application/json`,
		"text/html":                       `Content-Type is "text/html", not application/json`,
		"text/json":                       `Content-Type is "text/json", not application/json`,
		"application/problem+json":        `Content-Type is "application/problem+json", not application/json`,
	} {
		assert.Equal(t, problem, MediaTypeProblem(http.Header{"Content-Type": {mediaType}}), mediaType)
	}
	for encoding, problem := range map[string]string{
		"": "", "identity": "", "Identity": "", "br": "Content-Encoding was not requested", "gzip": "Content-Encoding was not requested",
	} {
		h := http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {encoding}}
		assert.Equal(t, problem, MediaTypeProblem(h), encoding)
	}
}

// TestObject reads an object with an int64 n, a string s and an optional string o.
func TestObject(t *testing.T) {
	type object struct {
		n    int64
		s, o string
	}
	read := func(text string) (got object, err error) {
		b := Buffer{Bytes: []byte(text)}
		d := b.Open()
		err = Object(d, func(name []byte) (err error) {
			switch string(name) {
			case "n":
				got.n, err = Int(d)
			case "s":
				got.s, err = String(d, Required)
			case "o":
				got.o, err = String(d, Optional)
			default:
				err = d.SkipValue()
			}
			return err
		})
		return got, Finish(d, err)
	}
	for text, want := range map[string]object{
		`{}`:                          {},
		`{"n":7,"s":"a","o":"b"}`:     {7, "a", "b"},
		`{"n":-0,"s":"","o":null}`:    {},
		`{"n":-9223372036854775808}`:  {n: -1 << 63},
		`{"n":9223372036854775807}`:   {n: 1<<63 - 1},
		`{"n":922337203685477580}`:    {n: 922337203685477580},
		`{"x":[{"n":1},null],"n":1}`:  {n: 1},
		`{"\u006e":1,"s":"\u0061\n"}`: {n: 1, s: "a\n"},
		" \n{\"s\" : \"日\" }\r\n\t ":  {s: "日"},
	} {
		got, err := read(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		``: "at offset 0", ` `: "EOF", `[]`: "found [ instead of {", `"x"`: "instead of {", `null`: "instead of {",
		`{`: "unexpected EOF", `{"n":1`: "unexpected EOF", `{'n':1}`: "at offset 1", `{"n":1,}`: "at offset 6", `<html>`: "at offset 0",
		`{"n":"1"}`: "not an int64", `{"n":1.5}`: "not an int64", `{"n":1e3}`: "not an int64", `{"n":null}`: "not an int64",
		`{"n":true}`: "not an int64", `{"n":9223372036854775808}`: "not an int64", `{"n":01}`: "at offset 6", `{"n":+1}`: "at offset 5",
		`{"s":2}`: "not a string", `{"s":["a"]}`: "not a string", `{"s":null}`: "not a string", `{"o":3}`: "not a string",
		`{"n":1,"n":2}`: "duplicate object member name", "{\"s\":\"\xff\"}": "invalid UTF-8", `{"s":"\ud83d"}`: "at offset",
		`{} {}`: "data after top-level value, at offset 4", `{},`: "after top-level value", `{}x`: "after top-level value",
		`{"x":` + strings.Repeat("[", 20000): "exceeded max depth",
	} {
		_, err := read(text)
		assert.ErrorContains(t, err, want, text)
	}
	_, err := read(`{"secret":1,"secret":2}`)
	for ; err != nil; err = errors.Unwrap(err) {
		assert.NotContains(t, err.Error(), "secret", "a name may be the key")
	}
}

func TestErrorObject(t *testing.T) {
	for text, want := range map[string][2]string{
		`{"code":"c","message":"m","status":404,"trace":{"code":1}}`: {"c", "m"}, `{"message":"m\u0000"}`: {"", "m\x00"},
		`{"code":null,"message":"m"}`: {"", "m"}, `{"message":"m"` + strings.Repeat(" ", maxErrorObject-15) + `}`: {"", "m"},
		// These are no Error objects.
		`{"code":404,"message":"m"}`: {}, `{"message":"m","message":"n"}`: {}, `{"code":"c"} {}`: {}, `[{"code":"c"}]`: {}, ``: {},
		`null`: {}, `<html>no</html>`: {}, "{\"message\":\"\xff\"}": {}, `{"code":"c","message":"m"`: {}, `{"Code":"c"}`: {},
		`{"message":"m"` + strings.Repeat(" ", maxErrorObject-14) + `}`: {},
	} {
		code, message := ErrorObject([]byte(text))
		assert.Equal(t, want, [2]string{code, message}, "%.50s", text)
	}
}

package petstore_test

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go"
)

// secretKey has each kind of character that a key may have and that some format escapes.
const secretKey = "Zx9+secret/key~4711.of_the-house=="

// secretForms are the forms in which secretKey could be in a text.
var secretForms = formsOfSecret()

func formsOfSecret() []string {
	forms := []string{
		secretKey, url.QueryEscape(secretKey), url.PathEscape(secretKey), template.HTMLEscapeString(secretKey),
		template.JSEscapeString(secretKey), strings.ReplaceAll(secretKey, "/", `\/`), strings.ReplaceAll(secretKey, "+", `\u002b`),
		hex.EncodeToString([]byte(secretKey)), strings.ToUpper(hex.EncodeToString([]byte(secretKey))),
		fmt.Sprintf("% x", secretKey), fmt.Sprintf("% X", secretKey), fmt.Sprintf("%#x", secretKey), fmt.Sprintf("%# x", secretKey),
		strings.Trim(fmt.Sprint([]byte(secretKey)), "[]"), strings.Trim(fmt.Sprintf("%o", []byte(secretKey)), "[]"),
		strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", []byte(secretKey)), "[]byte{"), "}"),
	}
	for skip := range 3 { // base64 depends on the position in a longer text
		encoded := base64.RawStdEncoding.EncodeToString([]byte(secretKey[skip:]))
		forms = append(forms, encoded[:len(encoded)-4])
	}
	return forms
}

// formIn returns the form of the key that is in text; empty if none is.
func formIn(text string) string {
	for _, form := range secretForms {
		if strings.Contains(text, form) {
			return form
		}
	}
	return ""
}

func assertNoSecret(t *testing.T, text, where string) {
	t.Helper()
	if form := formIn(text); form != "" {
		assert.Failf(t, "the key is in a text", "%s: %s", where, form)
	}
}

// visited has the pointers that a search has followed. The type is part of the key, because a
// pointer to a struct has the same address as a pointer to its first field.
type visited map[visit]bool

type visit struct {
	address uintptr
	of      reflect.Type
}

// reach calls found with each text that can be reached from v, including unexported fields.
// Reflection cannot reach the variables of a closure.
func reach(v reflect.Value, seen visited, found func(string)) {
	switch v.Kind() {
	case reflect.String:
		found(v.String())
	case reflect.Pointer:
		if at := (visit{v.Pointer(), v.Type()}); !v.IsNil() && !seen[at] {
			seen[at] = true
			reach(v.Elem(), seen, found)
		}
	case reflect.Interface:
		if !v.IsNil() {
			reach(v.Elem(), seen, found)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			reach(field, seen, found)
		}
	case reflect.Map:
		for iter := v.MapRange(); iter.Next(); {
			reach(iter.Key(), seen, found)
			reach(iter.Value(), seen, found)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			found(bytesOf(v))
			return
		}
		for i := range v.Len() {
			reach(v.Index(i), seen, found)
		}
	default: // numbers, channels, functions
	}
}

func bytesOf(v reflect.Value) string {
	b := make([]byte, v.Len())
	for i := range b {
		b[i] = byte(v.Index(i).Uint())
	}
	return string(b)
}

func TestKeySearch(t *testing.T) {
	type box struct{ inner any }
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.Header.Set("Authorization", "Bearer "+secretKey)
	for name, v := range map[string]any{
		"a text": secretKey, "bytes": []byte(secretKey), "an array": [1]string{secretKey}, "a pointer": &box{&box{secretKey}},
		"a map's key": map[string]int{secretKey: 1}, "a map's value": map[int]box{1: {secretKey}}, "an error": errors.New(secretKey),
		"a request": box{request}, "a header": request.Header, "a type of one's own": box{petstore.PetStatus(secretKey)},
	} {
		reached := 0
		reach(reflect.ValueOf(v), visited{}, func(text string) {
			if formIn(text) != "" {
				reached++
			}
		})
		assert.Positive(t, reached, name)
	}
	for _, how := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%o", "slog text", "slog JSON", "encoding/json", "json/v2", "xml", "gob", "testify"} {
		assert.NotEmpty(t, formIn(textsOf(secretKey)[how])+formIn(textsOf([]byte(secretKey))[how]), how)
	}
}

// textsOf returns v in all formats of fmt, in logs, in encodings and in a testify message.
func textsOf(v any) map[string]string {
	texts := make(map[string]string)
	for _, flags := range []string{"", "+", "#", " ", "# ", "300"} {
		for _, verb := range "vTtbcdoOqxXUeEfFgGspz" {
			format := "%" + flags + string(verb)
			texts[format] = fmt.Sprintf(format, v)
		}
	}
	var text, object, xmlText, gobBytes bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("x", "value", v, slog.Group("g", "value", v))
	slog.New(slog.NewJSONHandler(&object, nil)).Info("x", "value", v, slog.Group("g", "value", v))
	v1, errV1 := json.Marshal(v)
	v2, errV2 := jsonv2.Marshal(v)
	errXML, errGob := xml.NewEncoder(&xmlText).Encode(v), gob.NewEncoder(&gobBytes).Encode(v)
	texts["slog text"], texts["slog JSON"] = text.String(), object.String()
	texts["encoding/json"], texts["json/v2"] = fmt.Sprint(string(v1), errV1), fmt.Sprint(string(v2), errV2)
	texts["xml"], texts["gob"] = fmt.Sprint(xmlText.String(), errXML), fmt.Sprint(gobBytes.String(), errGob)
	diff := &recordingT{}
	assert.Equal(diff, struct{}{}, v)
	assert.Empty(diff, v)
	texts["testify"] = diff.text
	return texts
}

// assertKeyNotIn checks that the key cannot be found in v, nor in any text made from it.
func assertKeyNotIn(t *testing.T, name string, v any) {
	t.Helper()
	reach(reflect.ValueOf(v), visited{}, func(text string) { assertNoSecret(t, text, name+", by reflection") })
	for how, text := range textsOf(v) {
		assertNoSecret(t, text, name+", by "+how)
	}
	err, ok := v.(error)
	if !ok {
		return
	}
	assertShortLine(t, err)
	joined := errors.Join(fmt.Errorf("importing: %w", err), errors.New("and more"))
	assertNoSecret(t, fmt.Sprintf("%+v %#[1]v", joined), name+", joined")
	for _, inner := range unwrapped(err) {
		assertNoSecret(t, fmt.Sprintf("%v %+[1]v %#[1]v %[1]x", inner), name+", unwrapped")
	}
}

// vaultError is an error of the caller's function for WithAPIKeyFunc. Its text contains the key.
// Only errors.Is, errors.As and Unwrap may find it in an error of the client.
type vaultError struct{ error }

// unwrapped returns the errors inside err, except for the caller's own.
func unwrapped(err error) []error {
	var inner []error
	switch e := err.(type) { //nolint:errorlint // one layer at a time
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	}
	var all []error
	for _, err := range inner {
		if _, own := err.(vaultError); err != nil && !own { //nolint:errorlint // this layer only
			all = append(append(all, err), unwrapped(err)...)
		}
	}
	return all
}

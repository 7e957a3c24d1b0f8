package petstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"unicode/utf8"
)

// encodeNewPet is the body of createPet: categoryId always, status only if there is one (section 2).
func encodeNewPet(p NewPet) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		panic(err) // strings and an integer always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// mediaTypeFault says what is wrong with the Content-Type of an answer that must be JSON.
func mediaTypeFault(h http.Header) string {
	mediaType, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	switch {
	case h.Get("Content-Encoding") != "":
		return "Content-Encoding was not asked for"
	case err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter):
		return "no valid Content-Type"
	case mediaType != "application/json":
		return "Content-Type is " + quote(mediaType) + ", not application/json"
	}
	return ""
}

// decodePets decodes the body of listPets: an array of Pet, never nil.
func decodePets(body []byte) ([]Pet, error) {
	return decodeDocument(body, func(d *json.Decoder) ([]Pet, error) {
		if err := expect(d, json.Delim('['), "an array"); err != nil {
			return nil, err
		}
		pets := make([]Pet, 0, DefaultLimit)
		for d.More() {
			pet, err := readPet(d)
			if err != nil {
				return nil, fmt.Errorf("pet %d: %w", len(pets), err)
			}
			pets = append(pets, pet)
		}
		_, err := d.Token()
		return pets, err
	})
}

// decodePet decodes the body of createPet and getPet.
func decodePet(body []byte) (Pet, error) { return decodeDocument(body, readPet) }

// decodeError returns code and message of an Error object, and empty strings of anything else: what
// stands in a 502 is up to whoever answered it.
func decodeError(body []byte) (code, message string) {
	var e struct{ Code, Message string }
	if !utf8.Valid(body) || json.Unmarshal(body, &e) != nil {
		return "", ""
	}
	return e.Code, e.Message
}

// decodeDocument decodes one JSON value with nothing behind it.
func decodeDocument[T any](body []byte, read func(*json.Decoder) (T, error)) (T, error) {
	var zero T
	if !utf8.Valid(body) {
		return zero, errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	v, err := read(d)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return zero, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return zero, errors.New("something follows the JSON value")
	}
	return v, nil
}

// readPet goes by the token: encoding/json alone would take names in any case, repeated names, and null or
// nothing for a required field. Unknown fields are passed over, so that the service may grow.
func readPet(d *json.Decoder) (Pet, error) {
	var p Pet
	if err := expect(d, json.Delim('{'), "an object"); err != nil {
		return p, err
	}
	seen := make(map[string]bool, 4)
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return p, err
		}
		if err := readField(d, &p, name.(string), seen); err != nil {
			return p, fmt.Errorf("%s: %w", token(name.(string)), err)
		}
	}
	if _, err := d.Token(); err != nil {
		return p, err
	}
	for _, name := range []string{"id", "name", "categoryId"} {
		if !seen[name] {
			return p, fmt.Errorf("%s is missing", name)
		}
	}
	return p, nil
}

func readField(d *json.Decoder, p *Pet, name string, seen map[string]bool) error {
	if seen[name] {
		return errors.New("stands there twice")
	}
	seen[name] = true
	switch name {
	case "id":
		return readRequired(d, &p.ID)
	case "name":
		return readRequired(d, &p.Name)
	case "categoryId":
		return readRequired(d, &p.CategoryID)
	case "status":
		return d.Decode(&p.Status) // null is none
	}
	var unknown json.RawMessage
	return d.Decode(&unknown)
}

func readRequired[T any](d *json.Decoder, to *T) error {
	var v *T
	if err := d.Decode(&v); err != nil {
		return err
	}
	if v == nil {
		return errors.New("is null")
	}
	*to = *v
	return nil
}

func expect(d *json.Decoder, delim json.Delim, what string) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t != delim {
		return errors.New("not " + what)
	}
	return nil
}

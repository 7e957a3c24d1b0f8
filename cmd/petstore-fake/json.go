package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxBody bounds the body of an admin request.
const maxBody = 1 << 20

// problem is an error with the status it is answered with.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func badRequest(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &problem{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

// created is a result that is answered with status 201.
type created struct{ value any }

// endpoint is a route that answers in JSON: 200 with what it returns, 204 without anything.
type endpoint func(r *http.Request) (any, error)

// ServeHTTP answers a request.
func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	result, err := e(r)
	if err != nil {
		writeProblem(w, err)
		return
	}
	status := http.StatusOK
	if c, ok := result.(created); ok {
		status, result = http.StatusCreated, c.value
	}
	if result == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	writeJSON(w, status, result)
}

// writeProblem answers with {"error": ...}. An error that is no problem is the client's: wrong input.
func writeProblem(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if p, ok := errors.AsType[*problem](err); ok {
		status = p.status
	}
	writeJSON(w, status, map[string]string{"error": err.Error()})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be encoded"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}

// readBody returns the whole body of a request that has to have one.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &problem{
			http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the request body is larger than %d bytes", maxBody),
		}
	}
	switch {
	case err != nil:
		return nil, badRequest("the request body cannot be read: %v", err)
	case len(bytes.TrimSpace(body)) == 0:
		return nil, badRequest("the request body is missing; it must be a JSON object")
	}
	return body, nil
}

// readInto decodes the body of a request into a struct.
func readInto(r *http.Request, v any) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	return decodeStrict(body, v)
}

// decodeStrict decodes a text that must be one JSON object without unknown fields. Its errors name
// fields, never values.
func decodeStrict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		return errors.New("there is something behind the JSON object")
	}
	if endsEarly(err) {
		return errEndsEarly
	}
	if err == nil && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		err = errors.New("it must be a JSON object") // null decodes into anything
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return errors.New("it must be a JSON object")
		}
		kind, _, _ := strings.Cut(wrong.Value, " ") // "number 1.5"
		return fmt.Errorf("%s must be of type %s, not %s", wrong.Field, wrong.Type, kind)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is not JSON: %w at byte %d", syntax, syntax.Offset)
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

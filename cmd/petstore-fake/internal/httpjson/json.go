// Package httpjson reads the requests of the routes below /_fake/ and writes their responses:
// bodies in JSON, errors with a status, and queries without unknown parameters.
package httpjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

// MaxBody bounds the body of an admin request, in bytes: 1 MiB, as for requests of the service.
const MaxBody = 1 << 20

// StatusError is an error with the status of its response.
type StatusError struct {
	// Status is the HTTP status of the response.
	Status int
	text   string
}

// Error returns the reason.
func (e *StatusError) Error() string { return e.text }

// Errorf returns a [StatusError].
func Errorf(status int, format string, args ...any) error {
	return &StatusError{status, fmt.Sprintf(format, args...)}
}

// Created is a result whose response has status 201.
type Created struct {
	Value any // of the body
}

// Endpoint is a route with a response in JSON: status 200 with the value that it returns, or 204
// for nil.
type Endpoint func(r *http.Request) (any, error)

// ServeHTTP calls e and writes its result.
func (e Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
	result, err := e(r)
	if err != nil {
		WriteError(w, err)
		return
	}
	status := http.StatusOK
	if c, ok := result.(Created); ok {
		status, result = http.StatusCreated, c.Value
	}
	if result == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	writeJSON(w, status, result)
}

// Handler is a route that writes its own response. If it returns an error, it must not have written
// anything.
type Handler func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP calls h and writes its error.
func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h(w, r); err != nil {
		WriteError(w, err)
	}
}

// WriteError writes {"error": ...}. An error that is not a [StatusError] is about the request and
// has status 400.
func WriteError(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if e, ok := errors.AsType[*StatusError](err); ok {
		status = e.Status
	}
	writeJSON(w, status, map[string]string{"error": err.Error()})
}

// writeJSON writes a value as the response.
func writeJSON(w http.ResponseWriter, status int, value any) {
	text, _ := json.Marshal(value) // the values of the routes can be encoded
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // an error says that the client is gone
}

// ReadBody returns the body of a request, which must have one.
func ReadBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, Errorf(http.StatusRequestEntityTooLarge,
			"the request body is larger than %d bytes", MaxBody)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the request body cannot be read: %w", err)
	case len(bytes.TrimSpace(body)) == 0:
		return nil, errors.New("the request body is missing; it must be a JSON object")
	}
	return body, nil
}

// ReadFields returns the fields of a body that must be an object with all of these fields and no
// other, each a string.
func ReadFields(r *http.Request, names ...string) (map[string]string, error) {
	body, err := ReadBody(r)
	if err != nil {
		return nil, err
	}
	object, err := spec.ParseObject(body)
	if err != nil {
		return nil, err
	}
	for name := range object {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("unknown field %q; there are %s", spec.Clip(name), strings.Join(names, ", "))
		}
	}
	fields := make(map[string]string)
	for _, name := range names {
		var text string
		switch raw, ok := object[name]; {
		case !ok:
			return nil, fmt.Errorf("%s is missing", name)
		case json.Unmarshal(raw, &text) != nil:
			return nil, fmt.Errorf("%s must be of type string, not %s", name, raw.Kind())
		}
		fields[name] = text
	}
	return fields, nil
}

// ReadField returns the value of a body with one field, such as {"plan":"free"}. parse reads it as
// it reads the value of a flag.
func ReadField[T any](r *http.Request, name string, parse func(string) (T, error)) (T, error) {
	fields, err := ReadFields(r, name)
	if err != nil {
		return *new(T), err
	}
	value, err := parse(fields[name])
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return value, err
}

// Origin returns the scheme and the host that a request was sent to. Its port may differ from that
// of the program, which may run in a container.
func Origin(r *http.Request) string { return "http://" + r.Host }

// Package httpjson reads the requests of the routes below /_fake/ and writes their responses.
package httpjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

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

// Write writes a value as the response.
func Write(w http.ResponseWriter, status int, value any) {
	text, _ := json.Marshal(value) // the values of the routes can be encoded
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // an error says that the client is gone
}

// WriteError writes {"error": ...}. An error that is not a [StatusError] is about the request and
// has status 400.
func WriteError(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if e, ok := errors.AsType[*StatusError](err); ok {
		status = e.Status
	}
	Write(w, status, map[string]string{"error": err.Error()})
}

// ReadQuery returns the query of a request, which may have each of the allowed parameters once.
func ReadQuery(r *http.Request, allowed ...string) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, errors.New("the query cannot be read")
	}
	for name, given := range query {
		if !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("there is no parameter %q; there are: %s", spec.Clip(name), strings.Join(allowed, ", "))
		}
		if len(given) > 1 {
			return nil, fmt.Errorf("the parameter %s is given twice", name)
		}
	}
	return query, nil
}

// ReadNumber reads a parameter that is a number between two bounds. It returns otherwise for "".
func ReadNumber(name, value string, least, most, otherwise int) (int, error) {
	if value == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s is %q; it must be a number between %d and %d", name, spec.Clip(value), least, most)
	}
	return n, nil
}

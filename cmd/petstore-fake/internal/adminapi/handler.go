package adminapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
)

// refusal is an error with the status of its response.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return e.text }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

type object = map[string]any

// listed returns what is shown of each element of a list. It is not nil, which JSON shows as null.
func listed[T, S any](list []T, show func(T) S) []S {
	shown := make([]S, 0, len(list))
	for _, one := range list {
		shown = append(shown, show(one))
	}
	return shown
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	text, _ := json.Marshal(value) // the values of the routes can be encoded
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // an error says that the client is gone
}

// writeError writes {"error": ...}. An error without a status is about the request and has status
// 400.
func writeError(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if e, ok := errors.AsType[*refusal](err); ok {
		status = e.status
	}
	writeJSON(w, status, object{"error": err.Error()})
}

// handler is a route that writes its own response. If it returns an error, it must not have written
// anything.
type handler func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP calls h and writes its error.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h(w, r); err != nil {
		writeError(w, err)
	}
}

// endpoint is a route whose response is a value in JSON, or nothing for nil.
type endpoint func(r *http.Request) (any, error)

// done returns an endpoint that calls f and responds without a body.
func done(f func()) endpoint { return func(*http.Request) (any, error) { f(); return nil, nil } }

func ok(e endpoint) handler      { return respond(e, http.StatusOK) }
func created(e endpoint) handler { return respond(e, http.StatusCreated) }

func respond(e endpoint, status int) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		value, err := e(r)
		switch {
		case err != nil:
			return err
		case value == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			writeJSON(w, status, value)
		}
		return nil
	}
}

// reading returns an endpoint that calls f with its body, which parse reads as it reads the value
// of a flag.
func reading[T any](parse func(string) (T, error), f func(*http.Request, T) (any, error)) endpoint {
	return func(r *http.Request) (any, error) {
		body, err := io.ReadAll(r.Body)
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, refuse(http.StatusRequestEntityTooLarge, "the request body is larger than %d bytes", maxBody)
		}
		_, wrongQuery := spec.ReadQuery(r) // a query has no effect here, such as ?operation= on a fault
		value, wrong := parse(strings.TrimSpace(string(body)))
		if err := cmp.Or(err, wrongQuery, wrong); err != nil {
			return nil, err
		}
		return f(r, value)
	}
}

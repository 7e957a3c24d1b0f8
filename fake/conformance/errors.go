package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// errorClauses are those of section 7, and those of section 2 about Error. The body of a 429 is
// left out: the document does not describe it.
func errorClauses() []clause {
	return []clause{
		{"7", "errors are application/json", errorMedia},
		{"7", "a 400 has an Error body", errorBody(http.StatusBadRequest)},
		{"7", "a 401 has an Error body", errorBody(http.StatusUnauthorized)},
		{"7", "a 404 has an Error body", errorBody(http.StatusNotFound)},
		{"2", "Error/code is a string", everyError("code", isText)},
		{"2", "Error/message is a string", everyError("message", isText)},
		{"2", "Error/status is the HTTP status", everyError("status", isStatus)},
	}
}

// refusals returns the responses that have an Error body by the document, those of one status or,
// for 0, all of them.
func (s *session) refusals(status int) []*exchange {
	s.samples()
	var list []*exchange
	for _, x := range s.log {
		switch x.status {
		case http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound:
			if status == 0 || status == x.status {
				list = append(list, x)
			}
		}
	}
	if len(list) == 0 {
		skipf("there is no such response to look at")
	}
	return list
}

func errorMedia(s *session) {
	for _, x := range s.refusals(0) {
		x.wantJSON()
	}
}

func errorBody(status int) func(*session) {
	return func(s *session) {
		for _, x := range s.refusals(status) {
			if _, err := object(x.response); err != nil {
				x.failf("the body is no Error: %v", err)
			}
		}
	}
}

// everyError is the clause that a field is right in all Error bodies. Another clause checks bodies
// that are no objects.
func everyError(field string, check func(json.RawMessage, *exchange) error) func(*session) {
	return func(s *session) {
		for _, x := range s.refusals(0) {
			fields, err := object(x.response)
			if err != nil {
				continue
			}
			if err := check(fields[field], x); err != nil {
				x.failf("%s: %v", field, err)
			}
		}
	}
}

func isText(raw json.RawMessage, _ *exchange) error {
	_, err := text(raw)
	return err
}

func isInteger(raw json.RawMessage, _ *exchange) error {
	_, err := integer(raw)
	return err
}

func isStatus(raw json.RawMessage, x *exchange) error {
	n, err := integer(raw)
	if err == nil && n != int64(x.status) {
		err = fmt.Errorf("%d is not %d", n, x.status)
	}
	return err
}

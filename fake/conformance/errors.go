package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// errorClauses are those of section 7, and what section 2 says of Error. The body of a 429 is left
// out: its shape is not described.
func errorClauses() []clause {
	return []clause{
		{"7", "errors are application/json", errorMedia},
		{"7", "a 400 has an Error body", errorBody(http.StatusBadRequest)},
		{"7", "a 401 has an Error body", errorBody(http.StatusUnauthorized)},
		{"7", "a 404 has an Error body", errorBody(http.StatusNotFound)},
		{"2", "Error/code is a string", everyError("code", func(raw json.RawMessage, _ int) error {
			_, err := text(raw)
			return err
		})},
		{"2", "Error/message is a string", everyError("message", func(raw json.RawMessage, _ int) error {
			_, err := text(raw)
			return err
		})},
		{"2", "Error/status is the HTTP status", everyError("status", errorStatus)},
	}
}

// refusals returns the responses that the document gives an Error body, of one status or of all.
func (s *session) refusals(status int) ([]*exchange, error) {
	if err := s.samples(); err != nil {
		return nil, err
	}
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
		return nil, skip("there is no such response to look at")
	}
	return list, nil
}

func errorMedia(s *session) error {
	list, err := s.refusals(0)
	if err != nil {
		return err
	}
	for _, x := range list {
		if !isJSON(x) {
			return x.errorf("the Content-Type must be application/json and is %q", x.header.Get("Content-Type"))
		}
	}
	return nil
}

func errorBody(status int) func(*session) error {
	return func(s *session) error {
		list, err := s.refusals(status)
		if err != nil {
			return err
		}
		for _, x := range list {
			if _, err := object(x.response); err != nil {
				return x.errorf("the body is no Error: %v", err)
			}
		}
		return nil
	}
}

// everyError is the clause that a field is right in all Error bodies. A body that is no object is
// not its business.
func everyError(field string, check func(raw json.RawMessage, status int) error) func(*session) error {
	return func(s *session) error {
		list, err := s.refusals(0)
		if err != nil {
			return err
		}
		for _, x := range list {
			fields, err := object(x.response)
			if err != nil {
				continue
			}
			if err := check(fields[field], x.status); err != nil {
				return x.errorf("%s: %v", field, err)
			}
		}
		return nil
	}
}

func errorStatus(raw json.RawMessage, status int) error {
	n, err := integer(raw)
	if err == nil && n != int64(status) {
		err = fmt.Errorf("%d is not %d", n, status)
	}
	return err
}

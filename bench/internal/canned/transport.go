package canned

import (
	"io"
	"net/http"
	"slices"
	"strconv"
)

// NewTransport returns a transport that answers on the caller's goroutine. It allocates what a real one
// gives away with every answer and no more: the response, its header, its body.
func NewTransport() http.RoundTripper { return &stub{book: newBook()} }

type stub struct {
	*book

	date date
}

// RoundTrip reads the request's body and returns the answer.
func (s *stub) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if req.Body != nil {
		_, err := io.Copy(io.Discard, req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	a := s.answer(req)
	return &http.Response{
		Status:        status(a.Status),
		StatusCode:    a.Status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        copied(a.Header, s.date.now()),
		Body:          &body{rest: a.Body},
		ContentLength: int64(len(a.Body)),
		Request:       req,
	}, nil
}

// status is a constant for the codes in use, so that it costs nothing.
func status(code int) string {
	switch code {
	case http.StatusOK:
		return "200 OK"
	case http.StatusCreated:
		return "201 Created"
	case http.StatusNotFound:
		return "404 Not Found"
	}
	return strconv.Itoa(code) + " " + http.StatusText(code)
}

// copied is a header of the caller's own, with one array for all its values, as net/http reads them.
func copied(h http.Header, date string) http.Header {
	own, values := make(http.Header, len(h)), make([]string, 0, len(h))
	for name, v := range h {
		value := v[0]
		if name == "Date" {
			value = date
		}
		values = append(values, value)
		own[name] = slices.Clip(values[len(values)-1:])
	}
	return own
}

// body ends together with its last bytes, as a body of known length does in net/http.
type body struct{ rest []byte }

func (b *body) Read(p []byte) (int, error) {
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	if len(b.rest) == 0 {
		return n, io.EOF
	}
	return n, nil
}

func (b *body) Close() error { return nil }

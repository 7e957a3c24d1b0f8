package canned

import (
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// NewTransport returns a transport that responds on the caller's goroutine. It allocates what a
// real one must allocate for every response and no more: the response, its header, its body.
func NewTransport() http.RoundTripper { return &stub{responses: newResponses()} }

type stub struct {
	responses

	date atomic.Pointer[date]
}

// RoundTrip reads the request's body and returns the response.
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
	constant := s.to(req)
	resp := constant.Response
	resp.Header, resp.Body, resp.Request = s.header(resp.Header), &body{rest: constant.body}, req
	return &resp, nil
}

// header returns a copy of h with a Date. As in the headers that net/http reads, all values share
// one array.
func (s *stub) header(h http.Header) http.Header {
	own, values := make(http.Header, len(h)+1), make([]string, 0, len(h)+1)
	add := func(name, value string) {
		values = append(values, value)
		own[name] = slices.Clip(values[len(values)-1:])
	}
	for name, v := range h {
		add(name, v[0])
	}
	add("Date", s.now())
	return own
}

// date is the text of a Date header.
type date struct {
	second int64
	text   string
}

// now returns the Date header, made once a second as net/http's server does it. Were it constant, a
// client that compares it with its own clock would see a clock that stands still.
func (s *stub) now() string {
	now := time.Now()
	if last := s.date.Load(); last != nil && last.second == now.Unix() {
		return last.text
	}
	next := &date{now.Unix(), now.UTC().Format(http.TimeFormat)}
	s.date.Store(next)
	return next.text
}

// body returns io.EOF together with its last bytes, as a body of known length does in net/http.
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

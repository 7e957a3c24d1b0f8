package main

import (
	"math"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/petstore/petstore-go/fake"
)

// shownRequest is a request of the journal. A body that is not UTF-8, which JSON cannot carry, stands
// in the field with Base64 in its name.
type shownRequest struct {
	Seq          int         `json:"seq"`
	Operation    string      `json:"operation"`
	KeyID        int         `json:"keyId"` // 0 without a valid key
	Key          string      `json:"key"`
	Method       string      `json:"method"`
	Path         string      `json:"path"`
	Header       http.Header `json:"header"`
	Body         string      `json:"body"`
	BodyBase64   []byte      `json:"bodyBase64,omitempty"`
	Status       int         `json:"status"`
	AnswerHeader http.Header `json:"answerHeader"`
	Answer       string      `json:"answer"`
	AnswerBase64 []byte      `json:"answerBase64,omitempty"`
	Time         time.Time   `json:"time"`
	DurationMS   float64     `json:"durationMs"`
	Fault        bool        `json:"fault"`
	Hint         string      `json:"hint"`
}

func (a *admin) showRequest(r fake.Request) shownRequest {
	s := shownRequest{
		Seq: r.Seq, Operation: r.Operation, Method: r.Method, Path: r.Path, Header: r.Header,
		Status: r.StatusCode, AnswerHeader: r.AnswerHeader, Time: r.Time.UTC(), Fault: r.Fault, Hint: r.Hint,
		DurationMS: milliseconds(r.Duration),
	}
	s.KeyID, s.Key = a.sender(r)
	s.Body, s.BodyBase64 = showBytes(r.Body)
	s.Answer, s.AnswerBase64 = showBytes(r.Answer)
	return s
}

func showBytes(b []byte) (text string, binary []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return "", b
}

// listRequests answers GET /_fake/requests.
func (a *admin) listRequests(r *http.Request) (any, error) {
	q := readQuery(r, append(requestParameters(), "since", "limit")...)
	fits := a.requestFilter(q)
	since := int(q.number("since", 0, math.MaxInt32, 0))
	limit := int(q.number("limit", 1, maxList, defaultList))
	if q.err != nil {
		return nil, q.err
	}
	all := a.srv.Requests()
	fitting := all[:0]
	for _, r := range all {
		if r.Seq > since && fits(r) {
			fitting = append(fitting, r)
		}
	}
	shown := make([]shownRequest, 0, min(limit, len(fitting)))
	for _, r := range fitting[max(len(fitting)-limit, 0):] {
		shown = append(shown, a.showRequest(r))
	}
	return struct {
		Total    int            `json:"total"`
		Requests []shownRequest `json:"requests"`
	}{len(fitting), shown}, nil
}

// shownDetail is a request with what is useful for one alone.
type shownDetail struct {
	shownRequest
	BodySize   int    `json:"bodySize"`
	AnswerSize int    `json:"answerSize"`
	Curl       string `json:"curl"`
}

// getRequest answers GET /_fake/requests/{id}.
func (a *admin) getRequest(r *http.Request) (any, error) {
	q := readQuery(r, "bytes")
	size := int(q.number("bytes", 0, math.MaxInt32, math.MaxInt32))
	if q.err != nil {
		return nil, q.err
	}
	n, ok := id(r)
	found, ok2 := a.srv.Request(int(n))
	if !ok || !ok2 || n > math.MaxInt32 {
		return nil, notFound("there is no request %q in the journal", clip(r.PathValue("id")))
	}
	return a.showDetail(r, found, size), nil
}

// showDetail shows a request of the journal with its bodies up to a size, to who asked for it by r.
func (a *admin) showDetail(r *http.Request, one fake.Request, size int) shownDetail {
	d := shownDetail{
		BodySize: len(one.Body), AnswerSize: len(one.Answer), Curl: curlCommand(origin(r), one),
	}
	one.Body, one.Answer = cut(one.Body, size), cut(one.Answer, size)
	d.shownRequest = a.showRequest(one)
	return d
}

// cut cuts a body after so many bytes, and no character of a text in two.
func cut(b []byte, size int) []byte {
	if len(b) <= size {
		return b
	}
	for end := size; end > max(size-utf8.UTFMax, 0); end-- {
		if utf8.RuneStart(b[end]) {
			return b[:end]
		}
	}
	return b[:size]
}

// clearRequests answers DELETE /_fake/requests.
func (a *admin) clearRequests(*http.Request) (any, error) {
	a.srv.ClearRequests()
	a.feed.restart()
	return nil, nil
}

// shownViolation is something that a well-behaved client does not do.
type shownViolation struct {
	Rule    string `json:"rule"`
	Section string `json:"section"`
	Detail  string `json:"detail"`
	Seq     int    `json:"seq"`
}

// violations answers GET /_fake/violations.
func (a *admin) violations(*http.Request) (any, error) {
	shown := []shownViolation{}
	for _, v := range a.srv.Violations() {
		shown = append(shown, shownViolation(v))
	}
	return map[string]any{"violations": shown}, nil
}

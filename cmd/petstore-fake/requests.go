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
	Method       string      `json:"method"`
	Path         string      `json:"path"`
	Header       http.Header `json:"header"`
	Body         string      `json:"body"`
	BodyBase64   []byte      `json:"bodyBase64,omitempty"`
	Status       int         `json:"status"`
	Answer       string      `json:"answer"`
	AnswerBase64 []byte      `json:"answerBase64,omitempty"`
	Time         time.Time   `json:"time"`
	DurationMS   float64     `json:"durationMs"`
	Fault        bool        `json:"fault"`
	Hint         string      `json:"hint"`
}

func showRequest(r fake.Request) shownRequest {
	s := shownRequest{
		Seq: r.Seq, Operation: r.Operation, Method: r.Method, Path: r.Path, Header: r.Header,
		Status: r.StatusCode, Time: r.Time.UTC(), Fault: r.Fault, Hint: r.Hint,
		DurationMS: float64(r.Duration) / float64(time.Millisecond),
	}
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
	q := readQuery(r, "operation", "method", "status", "fault", "since", "limit")
	fits := requestFilter(q)
	since := int(q.number("since", 0, math.MaxInt32, 0))
	limit := int(q.number("limit", 1, maxList, defaultList))
	if q.err != nil {
		return nil, q.err
	}
	a.mu.Lock()
	all := a.srv.Requests()
	since = max(since, a.cleared)
	a.mu.Unlock()
	fitting := all[:0]
	for _, r := range all {
		if r.Seq > since && fits(r) {
			fitting = append(fitting, r)
		}
	}
	shown := make([]shownRequest, 0, min(limit, len(fitting)))
	for _, r := range fitting[max(len(fitting)-limit, 0):] {
		shown = append(shown, showRequest(r))
	}
	return struct {
		Total    int            `json:"total"`
		Requests []shownRequest `json:"requests"`
	}{len(fitting), shown}, nil
}

// requestFilter reads the filters of a request's query. A status of 0 is "no answer", an operation
// "none" a request that fits no operation.
func requestFilter(q *query) func(fake.Request) bool {
	operation := q.text("operation", fake.OpListPets, fake.OpCreatePet, fake.OpGetPet, "none")
	method := q.text("method")
	status := int(q.number("status", 0, 999, -1))
	fault := q.text("fault", "true", "false")
	return func(r fake.Request) bool {
		switch {
		case operation == "none" && r.Operation != "",
			operation != "" && operation != "none" && r.Operation != operation,
			method != "" && r.Method != method,
			status >= 0 && r.StatusCode != status,
			fault != "" && r.Fault != (fault == "true"):
			return false
		}
		return true
	}
}

// clearRequests answers DELETE /_fake/requests. The fake empties its journal only in Reset, which
// empties much else; so the requests so far are passed over from now on.
func (a *admin) clearRequests(*http.Request) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if all := a.srv.Requests(); len(all) > 0 {
		a.cleared = all[len(all)-1].Seq
	}
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

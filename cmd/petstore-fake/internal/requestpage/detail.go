package requestpage

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/replay"
	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/ratelimit"
)

// The bounds of what the page shows of one request: bytes of a body and of a command, and tries.
const (
	maxDetail = 16 << 10
	maxCurl   = 4 << 10
	maxTries  = 20
)

// detail is a request as the page shows it alone.
type detail struct {
	row
	FullPath     string
	Request      []headerField
	RequestBody  shownBody
	Response     []headerField
	ResponseBody shownBody
	Calls        []try
	Curl         string
	Partial      bool // Curl is not the whole
}

// headerField is a header with what it means.
type headerField struct{ Name, Value, Note string }

// shownBody is a body, or the beginning of one.
type shownBody struct {
	About, Text string
	Partial     bool
}

// try is a try of a call, with the time since the one before and what that one's Retry-After asked
// for, zero for nothing.
type try struct {
	row
	Waited, Asked time.Duration
}

// detail returns a request with its bodies, and the curl command, up to a size.
func (s *state) detail(e journal.Entry, senders map[int]string) *detail {
	d := &detail{
		row: newRow(e, senders), FullPath: shorten(e.Path),
		Request: headerFields(e.Header, nil), Response: headerFields(e.ResponseHeader, notes(e)),
		RequestBody: newShownBody(e.Body), ResponseBody: newShownBody(e.ResponseBody),
	}
	curl := replay.Curl(s.page.srv, s.Origin, e.Request)
	d.Curl, d.Partial = safetext.Shorten(curl, maxCurl), len(curl) > maxCurl
	d.Calls = s.tries(e, senders)
	switch {
	case journal.Pending(e.Request):
		d.ResponseBody.About = "no response yet"
	case e.StatusCode == 0:
		d.ResponseBody.About = "no response"
	}
	return d
}

func headerFields(h http.Header, notes map[string]string) (fields []headerField) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			shown := strings.Replace(name, "X-Ratelimit", "X-RateLimit", 1)
			fields = append(fields, headerField{shown, value, notes[name]})
		}
	}
	return fields
}

// newShownBody lays a body out for reading: a JSON text over several lines, its numbers as they
// are, and bytes that are no text as base64.
func newShownBody(body []byte) shownBody {
	part := body[:min(len(body), maxDetail)]
	if utf8.Valid(body) {
		part = bytes.ToValidUTF8(part, nil) // no half of a character
	}
	b := shownBody{many(len(body), "byte"), string(part), len(part) < len(body)}
	var laidOut bytes.Buffer
	switch {
	case len(body) == 0:
		b.About = "empty"
	case !utf8.Valid(part):
		b.About, b.Text = b.About+", as base64", base64.StdEncoding.EncodeToString(part)
	case json.Indent(&laidOut, part, "", "  ") == nil:
		b.Text = laidOut.String()
	}
	if b.Partial {
		b.About += "; these are the first " + count(len(part))
	}
	return b
}

// tries returns the tries of a request's call that stand around it.
func (s *state) tries(e journal.Entry, senders map[int]string) (list []try) {
	from := min(max(e.Try-maxTries/2, 0), max(len(e.Tries)-maxTries, 0))
	var before journal.Entry
	for i, seq := range e.Tries[from:min(from+maxTries, len(e.Tries))] {
		one, _ := s.page.Journal.Entry(seq)
		t := try{row: newRow(one, senders)}
		if ended := before.Time.Add(before.Duration); i > 0 {
			t.Waited, t.Asked = max(one.Time.Sub(ended), 1), outcomeOf(before.ResponseHeader, ended).RetryAfter
		}
		before, list = one, append(list, t)
	}
	return list
}

// notes explains the times in a response's header.
func notes(e journal.Entry) map[string]string {
	notes := make(map[string]string)
	ended := e.Time.Add(e.Duration)
	limit := outcomeOf(e.ResponseHeader, ended).Window
	if !limit.Reset.IsZero() {
		after := words(limit.Reset.Sub(ended)) + " after this response"
		notes["X-Ratelimit-Reset"] = limit.Reset.UTC().Format(time.DateTime) + ", " + after
	}
	if limit.Limit > 1e9 { // what the service writes in place of none
		notes["X-Ratelimit-Limit"], notes["X-Ratelimit-Remaining"] = "no limit", "no limit"
	}
	if wait := outcomeOf(e.ResponseHeader, ended).RetryAfter; wait > 0 {
		notes["Retry-After"] = "until " + ended.Add(wait).UTC().Format(time.DateTime)
	}
	return notes
}

// outcomeOf reads the rate limit headers of a response that was sent at that time.
func outcomeOf(h http.Header, ended time.Time) ratelimit.Outcome {
	return ratelimit.OutcomeOf(&http.Response{Header: h}, ended, ended)
}

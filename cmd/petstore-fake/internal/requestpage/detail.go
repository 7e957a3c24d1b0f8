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
	FullPath string
	Headers  []headerList
	Bodies   []shownBody
	Calls    []try
	Told     *journal.Entry // the 429 that it did not wait for
	Until    string         // when that let it come back
	Curl     string
	Partial  bool // something is not shown whole
}

type headerList struct {
	Title  string
	Fields []headerField
}

type headerField struct{ Name, Value, Note string }

// shownBody is a body, or the beginning of one.
type shownBody struct{ Title, ID, About, Text string }

// try is a try of a call, with the time since the one before and what that one's Retry-After asked
// for, zero for nothing.
type try struct {
	row
	Waited, Asked time.Duration
}

// detail returns a request with its bodies, and the curl command, up to a size.
func (s *state) detail(e *journal.Entry) *detail {
	d := &detail{
		row:      row{Entry: e, Tries: len(s.page.Journal.Tries(e))},
		FullPath: shorten(e.Path), Calls: s.tries(e), Curl: Curl(s.page.srv, s.Origin, e.Request),
		Headers: []headerList{
			{"Response header", headerFields(e.ResponseHeader, notes(e))}, {"Request header", headerFields(e.Header, nil)},
		},
		Bodies: []shownBody{newShownBody("Request", e.Body), newShownBody("Response", e.ResponseBody)},
	}
	d.Partial = d.Curl == "" || max(len(e.Body), len(e.ResponseBody)) > maxDetail
	switch {
	case e.Pending():
		d.Bodies[1].About = "no response yet"
	case e.StatusCode == 0:
		d.Bodies[1].About = "no response"
	}
	for _, one := range s.List {
		if one.Seq < e.Seq && one.Key == e.Key && one.RetryAt().After(e.Time) && (d.Told == nil || one.RetryAt().After(d.Told.RetryAt())) {
			d.Told, d.Until = one, when(one.RetryAt(), e.Time)
		}
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
func newShownBody(of string, body []byte) shownBody {
	part := body[:min(len(body), maxDetail)]
	if utf8.Valid(body) {
		part = bytes.ToValidUTF8(part, nil) // no half of a character
	}
	b := shownBody{of + " body", strings.ToLower(of) + "-body", many(len(body), "byte"), string(part)}
	var laidOut bytes.Buffer
	switch {
	case len(body) == 0:
		b.About = "empty"
	case !utf8.Valid(part):
		b.About, b.Text = b.About+", as base64", base64.StdEncoding.EncodeToString(part)
	case json.Indent(&laidOut, part, "", "  ") == nil:
		b.Text = laidOut.String()
	}
	if len(part) < len(body) {
		b.About += "; these are the first " + count(len(part))
	}
	return b
}

// tries returns the tries of a request's call that stand around it.
func (s *state) tries(e *journal.Entry) (list []try) {
	all := s.page.Journal.Tries(e)
	from := min(max(e.Try-maxTries/2, 0), max(len(all)-maxTries, 0))
	var before *journal.Entry
	for _, seq := range all[from:min(from+maxTries, len(all))] {
		one := s.Entry(seq)
		if one == nil {
			continue // dropped
		}
		t := try{row: row{Entry: one}}
		if before != nil {
			t.Waited, t.Asked = max(one.Time.Sub(before.Ended), 1), before.Wait
		}
		before, list = one, append(list, t)
	}
	return list
}

// notes explains the times in a response's header.
func notes(e *journal.Entry) map[string]string {
	notes := make(map[string]string)
	if !e.Reset.IsZero() {
		notes["X-Ratelimit-Reset"] = when(e.Reset, e.Time) + ", " + words(e.Reset.Sub(e.Ended)) + " after this response"
	}
	if len(e.ResponseHeader.Get("X-Ratelimit-Limit")) > 9 { // what the service writes in place of none
		notes["X-Ratelimit-Limit"], notes["X-Ratelimit-Remaining"] = "no limit", "no limit"
	}
	if e.Wait > 0 {
		notes["Retry-After"] = "until " + when(e.Ended.Add(e.Wait), e.Time)
	}
	return notes
}

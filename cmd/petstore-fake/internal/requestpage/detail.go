package requestpage

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
)

// The bounds of what the page shows of one request: bytes of a body and of a command.
const (
	maxDetail = 16 << 10
	maxCurl   = 4 << 10
)

// detail is a request as the page shows it alone.
type detail struct {
	row
	FullPath string
	Notes    map[string]string // to headers of the response
	Bodies   []shownBody
	Told     *journal.Entry // the 429 that it did not wait for
	Until    string         // when that 429 allowed the next request
	Curl     string
	Partial  bool // something is not shown whole
}

// shownBody is a body, or the beginning of one.
type shownBody struct{ Title, ID, About, Text string }

// detail returns a request with its bodies, and the curl command, up to a size.
func (s *state) detail(e *journal.Entry) *detail {
	d := &detail{
		row: row{e}, FullPath: shorten(e.Path), Notes: notes(e), Curl: Curl(s.page.srv, s.Origin, e.Request),
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
		if one.Seq < e.Seq && one.Key == e.Key && one.RetryAt().After(e.Time) { // the last of them counts
			d.Told, d.Until = one, when(one.RetryAt(), e.Time)
		}
	}
	return d
}

// newShownBody lays a body out for reading: a JSON text over several lines, its numbers as they
// are, and bytes that are no text as base64.
func newShownBody(of string, body []byte) shownBody {
	part := body[:min(len(body), maxDetail)]
	if utf8.Valid(body) {
		part = bytes.ToValidUTF8(part, nil) // without half of a character at the end
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

// notes explains the times in a response's header.
func notes(e *journal.Entry) map[string]string {
	notes := make(map[string]string)
	if !e.Reset.IsZero() {
		notes["X-Ratelimit-Reset"] = when(e.Reset, e.Time) + ", " + words(e.Reset.Sub(e.Ended)) + " after this response"
	}
	if e.Wait > 0 {
		notes["Retry-After"] = "until " + when(e.Ended.Add(e.Wait), e.Time)
	}
	return notes
}

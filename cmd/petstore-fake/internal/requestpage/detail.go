package requestpage

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/replay"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// The bounds of what the page shows of one request: bytes of a body and of a command, and tries.
const (
	maxDetail = 16 << 10
	maxCode   = 4 << 10
	maxTries  = 20
)

// detail is a request as the page shows it alone.
type detail struct {
	row
	Journal      string // the number of its journal
	Request      []headerField
	RequestBody  shownBody
	Response     []headerField
	ResponseBody shownBody
	Calls        []try
	Longest      time.Duration // of their waits
	Curl         string
	Partial      bool // Curl is not the whole
	Pending      bool
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

// find returns the request that the path of a request names, in the journal that its query names.
func (p *Page) find(r *http.Request, q *httpjson.Query) (journal.Entry, error) {
	now := p.journal.Update()
	if at := q.Text("journal"); at != "" && at != strconv.FormatInt(now.Journal, 16) {
		return journal.Entry{}, httpjson.Errorf(http.StatusConflict,
			"the journal was cleared since; this request is not in it")
	}
	n, ok := httpjson.ID(r)
	e, found := p.journal.Entry(int(min(max(n, 0), math.MaxInt32)))
	if !ok || !found {
		return e, httpjson.NotFound("there is no request %q in the journal", spec.Clip(r.PathValue("id")))
	}
	return e, q.Err
}

// Get handles GET /_fake/requests/{id}.
func (p *Page) Get(r *http.Request) (any, error) {
	e, err := p.find(r, httpjson.ReadQuery(r))
	if err != nil {
		return nil, err
	}
	keys := p.senders()
	return struct {
		shownRequest
		Curl string `json:"curl"`
	}{keys.request(e.Request), replay.Curl(httpjson.Origin(r), e.Request, keys.public(e.Request))}, nil
}

// Code handles GET /_fake/requests/{id}/{form}: the request as code that sends it again, or as the
// page shows it.
func (p *Page) Code(w http.ResponseWriter, r *http.Request) error {
	form := r.PathValue("form")
	if form == "html" {
		return p.showDetail(w, r)
	}
	write := map[string]func(string, fake.Request, string) string{
		"curl": replay.Curl, "go": replay.Go, "fetch": replay.Fetch,
	}[form]
	if write == nil {
		return httpjson.NotFound("there is no form %q; there are curl, go, fetch and html", spec.Clip(form))
	}
	e, err := p.find(r, httpjson.ReadQuery(r, "journal"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	// An error says that the client is gone.
	_, _ = w.Write([]byte(write(httpjson.Origin(r), e.Request, p.senders().public(e.Request))))
	return nil
}

// Repeat handles POST /_fake/requests/{id}/repeat: it sends the request again, with the key it came
// with.
func (p *Page) Repeat(r *http.Request) (any, error) {
	e, err := p.find(r, httpjson.ReadQuery(r, "journal"))
	if err != nil {
		return nil, err
	}
	return nil, replay.Send(p.srv, httpjson.Origin(r), e.Request, p.Answered)
}

// showDetail writes a request as the page shows it, or the next older or newer one that fits.
func (p *Page) showDetail(w http.ResponseWriter, r *http.Request) error {
	v, q := p.newView(r, "journal", "step")
	step := q.Text("step", "older", "newer")
	e, err := p.find(r, q)
	if err != nil {
		return err
	}
	if step != "" {
		if e = v.neighbour(e, step); e.Seq == 0 {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(p.render("detail", v.detail(e)))) // an error says that the client is gone
	return nil
}

// neighbour returns the next request that fits, older or newer, and the zero Entry if there is none.
func (v *view) neighbour(e journal.Entry, step string) journal.Entry {
	by := 1
	if step == "older" {
		by = -1
	}
	first, last := v.p.journal.Span()
	for seq := e.Seq + by; seq >= first && seq <= last; seq += by {
		if one, ok := v.p.journal.Entry(seq); ok && (v.fits == nil || v.fits(one)) {
			return one
		}
	}
	return journal.Entry{}
}

// detail returns a request with its bodies, and the curl command, up to a size.
func (v *view) detail(e journal.Entry) *detail {
	keys := v.p.senders()
	d := &detail{
		row: keys.row(e, ""), Journal: strconv.FormatInt(v.At.Journal, 16),
		Pending: journal.Pending(e.Request),
		Request: headerFields(e.Header, nil), Response: headerFields(e.ResponseHeader, v.p.notes(e)),
		RequestBody: newShownBody(e.Body), ResponseBody: newShownBody(e.ResponseBody),
	}
	curl := replay.Curl(v.Origin, e.Request, keys.public(e.Request))
	d.Curl, d.Partial = spec.Shorten(curl, maxCode), len(curl) > maxCode
	d.Calls, d.Longest = v.tries(e, keys)
	switch {
	case d.Pending:
		d.ResponseBody.About = "No response yet."
	case e.StatusCode == 0:
		d.ResponseBody.About = "No response."
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

// newShownBody lays a body out for reading: a JSON text over several lines, with its numbers as they
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
		b.About = "No body."
	case !utf8.Valid(part):
		b.About, b.Text = b.About+", as base64", base64.StdEncoding.EncodeToString(part)
	case json.Indent(&laidOut, part, "", "  ") == nil:
		b.Text = laidOut.String()
	}
	if b.Partial {
		b.About += fmt.Sprintf("; these are the first %s", count(len(part)))
	}
	return b
}

// tries returns the tries of a request's call that stand around it, and the longest of their waits.
func (v *view) tries(e journal.Entry, keys senders) (list []try, longest time.Duration) {
	from := min(max(e.Try-maxTries/2, 0), max(len(e.Tries)-maxTries, 0))
	var before journal.Entry
	for i, seq := range e.Tries[from:min(from+maxTries, len(e.Tries))] {
		one, _ := v.p.journal.Entry(seq)
		t := try{row: keys.row(one, v.Link(seq))}
		if ended := before.Time.Add(before.Duration); i > 0 {
			t.Waited = max(one.Time.Sub(ended), 1)
			t.Asked = max(retryAfter(ended, before.ResponseHeader.Get("Retry-After")).Sub(ended), 0)
		}
		longest = max(longest, t.Waited, t.Asked)
		before, list = one, append(list, t)
	}
	return list, longest
}

// notes explains the times in a response's header.
func (p *Page) notes(e journal.Entry) map[string]string {
	notes := make(map[string]string)
	ended := e.Time.Add(e.Duration)
	const reset, wait = "X-Ratelimit-Reset", "Retry-After"
	if unix, err := strconv.ParseInt(e.ResponseHeader.Get(reset), 10, 64); err == nil && unix < math.MaxUint32 {
		t := time.Unix(unix, 0)
		notes[reset] = fmt.Sprintf("%s, %s after this response", timeOn(t, ended), words(max(t.Sub(ended), 0)))
	}
	until := retryAfter(ended, e.ResponseHeader.Get(wait))
	if until.IsZero() {
		return notes
	}
	notes[wait] = "until " + timeOn(until, ended)
	next, ok := p.journal.Entry(e.Next)
	early := ""
	switch {
	case e.Key == 0:
		return notes
	case !ok:
		notes[wait] += "; no request with this key came since"
		return notes
	case next.Time.Before(until):
		early = "too early, "
	}
	after := words(max(next.Time.Sub(ended), 0))
	notes[wait] += fmt.Sprintf("; the next request with this key came %safter %s", early, after)
	return notes
}

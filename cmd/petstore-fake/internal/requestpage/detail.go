package requestpage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/replay"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// shownDetail is a request with what is useful for one alone.
type shownDetail struct {
	shownRequest
	BodySize   int    `json:"bodySize"`
	AnswerSize int    `json:"answerSize"`
	Curl       string `json:"curl"`
	// BodyText and AnswerText are the bodies laid out for reading.
	BodyText   string `json:"bodyText"`
	AnswerText string `json:"answerText"`
	// Row is the request in the words of the page, and Tries are the tries of its call.
	Row   row   `json:"row"`
	Tries []row `json:"tries"`
	// Notes explain values of the response's header.
	Notes map[string]string `json:"notes"`
}

// find returns the request that the path of a request names.
func (p *Page) find(r *http.Request) (journal.Entry, error) {
	p.journal.Update(p.feed.generation())
	n, ok := httpjson.ID(r)
	e, found := p.journal.Entry(int(min(max(n, 0), math.MaxInt32)))
	if !ok || !found {
		return e, httpjson.NotFound("there is no request %q in the journal", spec.Clip(r.PathValue("id")))
	}
	return e, nil
}

// Get handles GET /_fake/requests/{id}.
func (p *Page) Get(r *http.Request) (any, error) {
	q := httpjson.ReadQuery(r, "bytes")
	size := int(q.Number("bytes", 0, math.MaxInt32, math.MaxInt32))
	if q.Err != nil {
		return nil, q.Err
	}
	e, err := p.find(r)
	if err != nil {
		return nil, err
	}
	return p.showDetail(r, e, size), nil
}

// showDetail returns a request with its bodies, and the curl command, up to a size. r is the admin
// request, whose Host the command calls.
func (p *Page) showDetail(r *http.Request, e journal.Entry, size int) shownDetail {
	keys := p.senders()
	d := shownDetail{
		BodySize: len(e.Body), AnswerSize: len(e.Answer), Row: keys.row(e), Tries: []row{},
		Notes: p.notes(e), Curl: string(cut([]byte(replay.Curl(httpjson.Origin(r), e.Request)), size)),
	}
	for _, seq := range e.Tries {
		if try, ok := p.journal.Entry(seq); ok {
			d.Tries = append(d.Tries, keys.row(try))
		}
	}
	e.Body, e.Answer = cut(e.Body, size), cut(e.Answer, size)
	d.BodyText, d.AnswerText = layOut(e.Body), layOut(e.Answer)
	d.shownRequest = keys.request(e.Request)
	return d
}

// layOut writes a JSON text over several lines, with its numbers as they are, and another text as
// it is.
func layOut(body []byte) string {
	var laidOut bytes.Buffer
	if !utf8.Valid(body) || json.Indent(&laidOut, body, "", "  ") != nil {
		return string(body)
	}
	return laidOut.String()
}

// notes explains the times in a response's header.
func (p *Page) notes(e journal.Entry) map[string]string {
	notes := make(map[string]string)
	ended := e.Time.Add(e.Duration)
	const reset, wait = "X-Ratelimit-Reset", "Retry-After"
	if unix, err := strconv.ParseInt(e.AnswerHeader.Get(reset), 10, 64); err == nil && unix < math.MaxUint32 {
		t := time.Unix(unix, 0)
		notes[reset] = fmt.Sprintf("%s, %s after this response", timeOn(t, ended), tookText(max(t.Sub(ended), 0)))
	}
	until := retryAfter(ended, e.AnswerHeader.Get(wait))
	if until.IsZero() {
		return notes
	}
	notes[wait] = "until " + timeOn(until, ended)
	next, ok := p.journal.Entry(e.Next)
	switch {
	case e.Key == 0:
	case !ok:
		notes[wait] += "; no request with this key came since"
	case next.Time.Before(until):
		notes[wait] += fmt.Sprintf("; the next request with this key came too early, after %s",
			tookText(max(next.Time.Sub(ended), 0)))
	default:
		notes[wait] += fmt.Sprintf("; the next request with this key came after %s", tookText(next.Time.Sub(ended)))
	}
	return notes
}

// Code handles GET /_fake/requests/{id}/{form}: the request as code that sends it again.
func (p *Page) Code(w http.ResponseWriter, r *http.Request) error {
	q := httpjson.ReadQuery(r, "bytes")
	size := int(q.Number("bytes", 0, math.MaxInt32, math.MaxInt32))
	if q.Err != nil {
		return q.Err
	}
	form := r.PathValue("form")
	write := map[string]func(string, fake.Request) string{
		"curl": replay.Curl, "go": replay.Go, "fetch": replay.Fetch,
	}[form]
	if write == nil {
		return httpjson.NotFound("there is no form %q; there are curl, go and fetch", spec.Clip(form))
	}
	e, err := p.find(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(cut([]byte(write(httpjson.Origin(r), e.Request)), size)) // an error says that the client is gone
	return nil
}

// Repeat handles POST /_fake/requests/{id}/repeat: it sends the request again, with the key it came
// with.
func (p *Page) Repeat(r *http.Request) (any, error) {
	e, err := p.find(r)
	if err != nil {
		return nil, err
	}
	return nil, replay.Send(p.srv, httpjson.Origin(r), e.Request, p.Answered)
}

package requestpage

import (
	"math"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/fake"
)

// shownRequest is a request of the journal. A body that is not UTF-8, which JSON cannot carry,
// stands in the field with Base64 in its name.
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
	FaultEffect  string      `json:"faultEffect,omitempty"`
	Hint         string      `json:"hint"`
}

func (s senders) request(r fake.Request) shownRequest {
	shown := shownRequest{
		Seq: r.Seq, Operation: r.Operation, Method: r.Method, Path: r.Path, Header: r.Header,
		Status: r.StatusCode, AnswerHeader: r.AnswerHeader, Time: r.Time.UTC(), Fault: r.Fault, Hint: r.Hint,
		DurationMS: float64(r.Duration) / float64(time.Millisecond), FaultEffect: r.FaultEffect,
	}
	shown.KeyID, shown.Key = s.of(r)
	shown.Body, shown.BodyBase64 = showBytes(r.Body)
	shown.Answer, shown.AnswerBase64 = showBytes(r.Answer)
	return shown
}

func showBytes(b []byte) (text string, binary []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return "", b
}

// List handles GET /_fake/requests.
func (p *Page) List(r *http.Request) (any, error) {
	q := httpjson.ReadQuery(r, append(journal.Parameters(), "since", "limit")...)
	fits := journal.Filter(q)
	since := int(q.Number("since", 0, math.MaxInt32, 0))
	limit := int(q.Number("limit", 1, httpjson.MaxList, httpjson.DefaultList))
	if q.Err != nil {
		return nil, q.Err
	}
	fitting := slices.DeleteFunc(p.fitting(fits), func(r fake.Request) bool { return r.Seq <= since })
	keys := p.senders()
	shown := make([]shownRequest, 0, min(limit, len(fitting)))
	for _, r := range fitting[max(len(fitting)-limit, 0):] {
		shown = append(shown, keys.request(r))
	}
	return struct {
		Total    int            `json:"total"`
		Requests []shownRequest `json:"requests"`
	}{len(fitting), shown}, nil
}

// fitting returns the requests of the journal that a filter lets pass, oldest first.
func (p *Page) fitting(fits func(journal.Entry) bool) []fake.Request {
	all := p.srv.Requests()
	if fits == nil {
		return all
	}
	p.journal.Update(p.feed.generation())
	return slices.DeleteFunc(all, func(r fake.Request) bool {
		e, ok := p.journal.Entry(r.Seq)
		return !ok || !fits(e)
	})
}

// newestRows returns the last requests that fit, oldest first, and, if there is a filter, the seqs
// of all that fit.
func (p *Page) newestRows(fits func(journal.Entry) bool) (rows []row, fitting map[int]bool) {
	rows, keys := []row{}, p.senders()
	if fits != nil {
		fitting = make(map[int]bool)
	}
	first, last := p.journal.Span()
	for seq := last; seq >= first && (fits != nil || len(rows) < maxRows); seq-- {
		e, ok := p.journal.Entry(seq)
		if !ok || fits != nil && !fits(e) {
			continue
		}
		if fits != nil {
			fitting[seq] = true
		}
		if len(rows) < maxRows {
			rows = append(rows, keys.row(e))
		}
	}
	slices.Reverse(rows)
	return rows, fitting
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

// HAR handles GET /_fake/har.
func (p *Page) HAR(w http.ResponseWriter, r *http.Request) error {
	q := httpjson.ReadQuery(r, journal.Parameters()...)
	fits := journal.Filter(q)
	if q.Err != nil {
		return q.Err
	}
	all := p.fitting(fits)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="petstore-fake.har"`)
	_ = fake.WriteHAR(w, httpjson.Origin(r), all) // an error says that the client is gone
	return nil
}

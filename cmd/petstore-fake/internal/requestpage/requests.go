package requestpage

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/fake"
)

// shownRequest is a request of the journal. A body that is not UTF-8, which JSON cannot carry,
// stands in the field with Base64 in its name.
type shownRequest struct {
	Seq            int         `json:"seq"`
	Operation      string      `json:"operation"`
	KeyID          int         `json:"keyId"` // 0 without a valid key
	Key            string      `json:"key"`
	Method         string      `json:"method"`
	Path           string      `json:"path"`
	Header         http.Header `json:"header"`
	Body           string      `json:"body"`
	BodyBase64     []byte      `json:"bodyBase64,omitempty"`
	Status         int         `json:"status"`
	ResponseHeader http.Header `json:"answerHeader"`
	Response       string      `json:"answer"`
	ResponseBase64 []byte      `json:"answerBase64,omitempty"`
	Time           time.Time   `json:"time"`
	DurationMS     float64     `json:"durationMs"`
	Fault          bool        `json:"fault"`
	FaultEffect    string      `json:"faultEffect,omitempty"`
	Hint           string      `json:"hint"`
}

func (s senders) request(r fake.Request) shownRequest {
	shown := shownRequest{
		Seq: r.Seq, Operation: r.Operation, Method: r.Method, Path: r.Path, Header: r.Header,
		Status: r.StatusCode, ResponseHeader: r.ResponseHeader, Time: r.Time.UTC(), Fault: r.FaultEffect != "", Hint: r.Hint,
		DurationMS: float64(r.Duration) / float64(time.Millisecond), FaultEffect: r.FaultEffect,
	}
	shown.KeyID, shown.Key = s.of(r)
	shown.Body, shown.BodyBase64 = showBytes(r.Body)
	shown.Response, shown.ResponseBase64 = showBytes(r.ResponseBody)
	return shown
}

func showBytes(b []byte) (text string, binary []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return "", b
}

// List handles GET /_fake/requests. It encodes one request at a time: all together may be as large
// as the journal.
func (p *Page) List(w http.ResponseWriter, r *http.Request) error {
	q := httpjson.ReadQuery(r, append(journal.Parameters(), "since", "limit")...)
	fits := journal.Filter(q)
	since := int(q.Number("since", 0, math.MaxInt32, 0))
	limit := int(q.Number("limit", 1, httpjson.MaxList, httpjson.DefaultList))
	if q.Err != nil {
		return q.Err
	}
	fitting := p.fitting(fits, since)
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"total":%d,"requests":[`, len(fitting))
	keys, separator := p.senders(), ""
	for one := range p.read(fitting[max(len(fitting)-limit, 0):]) {
		text, _ := json.Marshal(keys.request(one)) // nothing in it cannot be encoded
		if _, err := fmt.Fprintf(w, "%s%s", separator, text); err != nil {
			return nil // the client is gone
		}
		separator = ","
	}
	_, _ = io.WriteString(w, "]}\n")
	return nil
}

// fitting returns the seqs of the requests after since that a filter lets pass, oldest first.
func (p *Page) fitting(fits func(journal.Entry) bool, since int) (seqs []int) {
	p.journal.Update()
	first, last := p.journal.Span()
	for seq := max(first, min(since, last)+1); seq <= last; seq++ {
		if fits != nil {
			if e, ok := p.journal.Entry(seq); !ok || !fits(e) {
				continue
			}
		}
		seqs = append(seqs, seq)
	}
	return seqs
}

// read yields those of the requests that the journal still holds.
func (p *Page) read(seqs []int) iter.Seq[fake.Request] {
	return func(yield func(fake.Request) bool) {
		for _, seq := range seqs {
			if r, ok := p.srv.Request(seq); ok && !yield(r) {
				return
			}
		}
	}
}

// HAR handles GET /_fake/har.
func (p *Page) HAR(w http.ResponseWriter, r *http.Request) error {
	q := httpjson.ReadQuery(r, journal.Parameters()...)
	fits := journal.Filter(q)
	if q.Err != nil {
		return q.Err
	}
	fitting := p.fitting(fits, 0)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="petstore-fake.har"`)
	_ = writeArchive(w, httpjson.Origin(r), p.read(fitting)) // an error says that the client is gone
	return nil
}

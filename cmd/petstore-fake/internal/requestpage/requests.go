package requestpage

import (
	"math"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
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

func (s senders) request(r fake.Request) shownRequest {
	shown := shownRequest{
		Seq: r.Seq, Operation: r.Operation, Method: r.Method, Path: r.Path, Header: r.Header,
		Status: r.StatusCode, AnswerHeader: r.AnswerHeader, Time: r.Time.UTC(), Fault: r.Fault, Hint: r.Hint,
		DurationMS: milliseconds(r.Duration),
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
	q := httpjson.ReadQuery(r, append(requestParameters(), "since", "limit")...)
	fits := requestFilter(q)
	since := int(q.Number("since", 0, math.MaxInt32, 0))
	limit := int(q.Number("limit", 1, httpjson.MaxList, httpjson.DefaultList))
	if q.Err != nil {
		return nil, q.Err
	}
	all := p.srv.Requests()
	fitting := all[:0]
	for _, r := range all {
		if r.Seq > since && fits(r) {
			fitting = append(fitting, r)
		}
	}
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

// shownDetail is a request with what is useful for one alone.
type shownDetail struct {
	shownRequest
	BodySize   int    `json:"bodySize"`
	AnswerSize int    `json:"answerSize"`
	Curl       string `json:"curl"`
}

// Get handles GET /_fake/requests/{id}.
func (p *Page) Get(r *http.Request) (any, error) {
	q := httpjson.ReadQuery(r, "bytes")
	size := int(q.Number("bytes", 0, math.MaxInt32, math.MaxInt32))
	if q.Err != nil {
		return nil, q.Err
	}
	n, ok := httpjson.ID(r)
	found, ok2 := p.srv.Request(int(n))
	if !ok || !ok2 || n > math.MaxInt32 {
		return nil, httpjson.NotFound("there is no request %q in the journal", spec.Clip(r.PathValue("id")))
	}
	return p.showDetail(r, found, size), nil
}

// showDetail returns a request of the journal with its bodies up to a size. r is the admin request,
// whose Host the curl command calls.
func (p *Page) showDetail(r *http.Request, one fake.Request, size int) shownDetail {
	d := shownDetail{
		BodySize: len(one.Body), AnswerSize: len(one.Answer), Curl: curlCommand(httpjson.Origin(r), one),
	}
	one.Body, one.Answer = cut(one.Body, size), cut(one.Answer, size)
	d.shownRequest = p.senders().request(one)
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

// HAR handles GET /_fake/har.
func (p *Page) HAR(w http.ResponseWriter, r *http.Request) error {
	q := httpjson.ReadQuery(r, requestParameters()...)
	fits := requestFilter(q)
	if q.Err != nil {
		return q.Err
	}
	all := slices.DeleteFunc(p.srv.Requests(), func(one fake.Request) bool { return !fits(one) })
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="petstore-fake.har"`)
	_ = fake.WriteHAR(w, httpjson.Origin(r), all) // an error says that the client is gone
	return nil
}

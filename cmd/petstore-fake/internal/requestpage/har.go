package requestpage

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/fake"
)

// The types below are those of the HTTP Archive format 1.2. No key is in an archive, since there is
// none in the journal.

type harRoot struct {
	Log harLog `json:"log"`
}

type harLog struct {
	Version string     `json:"version"`
	Creator harCreator `json:"creator"`
	Entries []harEntry `json:"entries"`
}

type harCreator struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type harEntry struct {
	Started  time.Time   `json:"startedDateTime"`
	Time     float64     `json:"time"` // milliseconds
	Request  harRequest  `json:"request"`
	Response harResponse `json:"response"`
	Cache    struct{}    `json:"cache"`
	Timings  harTimings  `json:"timings"`
	Comment  string      `json:"comment,omitempty"`
}

type harRequest struct {
	Method      string      `json:"method"`
	URL         string      `json:"url"`
	HTTPVersion string      `json:"httpVersion"`
	Cookies     []harPair   `json:"cookies"`
	Headers     []harPair   `json:"headers"`
	QueryString []harPair   `json:"queryString"`
	PostData    *harContent `json:"postData,omitempty"`
	HeadersSize int         `json:"headersSize"` // -1: not known
	BodySize    int         `json:"bodySize"`
}

type harResponse struct {
	Status      int        `json:"status"`
	StatusText  string     `json:"statusText"`
	HTTPVersion string     `json:"httpVersion"`
	Cookies     []harPair  `json:"cookies"`
	Headers     []harPair  `json:"headers"`
	Content     harContent `json:"content"`
	RedirectURL string     `json:"redirectURL"`
	HeadersSize int        `json:"headersSize"`
	BodySize    int        `json:"bodySize"`
}

type harPair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type harContent struct {
	Size     *int   `json:"size,omitempty"` // of a response only
	MimeType string `json:"mimeType"`
	Text     string `json:"text,omitempty"`
	Encoding string `json:"encoding,omitempty"` // of a response only
	Comment  string `json:"comment,omitempty"`
}

type harTimings struct {
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

// HAR handles GET /_fake/har.
func (p *Page) HAR(w http.ResponseWriter, r *http.Request) error {
	q := httpjson.ReadQuery(r, requestParameters()...)
	fits := p.requestFilter(q)
	if q.Err != nil {
		return q.Err
	}
	archive := harRoot{harLog{"1.2", harCreator{"petstore-fake", petstore.Version}, []harEntry{}}}
	for _, one := range p.srv.Requests() {
		if fits(one) {
			archive.Log.Entries = append(archive.Log.Entries, p.harOf(httpjson.Origin(r), one))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="petstore-fake.har"`)
	_ = json.NewEncoder(w).Encode(archive) // an error says that the client is gone
	return nil
}

const harHTTPVersion = "HTTP/1.1"

// harOf returns a request of the journal as an entry of an archive.
func (p *Page) harOf(origin string, r fake.Request) harEntry {
	target := r.Path
	if u, err := url.ParseRequestURI(target); err == nil && u.Host == "" && target != "*" {
		target = origin + target
	}
	took := milliseconds(r.Duration)
	return harEntry{
		Started: r.Time.UTC(), Time: took,
		Request: harRequest{
			Method: r.Method, URL: target, HTTPVersion: harHTTPVersion, Cookies: []harPair{},
			Headers: harHeaders(r.Header), QueryString: p.harQuery(r.Path), PostData: harBody(r),
			HeadersSize: -1, BodySize: len(r.Body),
		},
		Response: harResponse{
			Status: r.StatusCode, StatusText: http.StatusText(r.StatusCode), HTTPVersion: harHTTPVersion,
			Cookies: []harPair{}, Headers: harHeaders(r.AnswerHeader), Content: harAnswer(r),
			HeadersSize: -1, BodySize: len(r.Answer),
		},
		Timings: harTimings{Wait: took}, Comment: r.Hint,
	}
}

func harHeaders(h http.Header) []harPair {
	pairs := []harPair{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			pairs = append(pairs, harPair{name, value})
		}
	}
	return pairs
}

// harQuery returns the parameters of a query. A key that was escaped in a way of its own comes to light
// when it is decoded.
func (p *Page) harQuery(path string) []harPair {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return []harPair{}
	}
	pairs := harHeaders(http.Header(u.Query()))
	for i, pair := range pairs {
		pairs[i] = harPair{p.keys.Redact(pair.Name), p.keys.Redact(pair.Value)}
	}
	return pairs
}

// harBody returns the body of a request, nil for none. The format has no encoding for one that is no
// text.
func harBody(r fake.Request) *harContent {
	if len(r.Body) == 0 {
		return nil
	}
	c := &harContent{MimeType: r.Header.Get("Content-Type")}
	text, binary := showBytes(r.Body)
	if c.Text = text; binary != nil {
		c.Text, c.Comment = base64.StdEncoding.EncodeToString(binary), "base64"
	}
	return c
}

func harAnswer(r fake.Request) harContent {
	size := len(r.Answer)
	c := harContent{Size: &size, MimeType: r.AnswerHeader.Get("Content-Type")}
	text, binary := showBytes(r.Answer)
	if c.Text = text; binary != nil {
		c.Text, c.Encoding = base64.StdEncoding.EncodeToString(binary), "base64"
	}
	return c
}

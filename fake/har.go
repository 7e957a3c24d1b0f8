package fake

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	petstore "github.com/petstore/petstore-go"
)

// WriteHAR writes requests of the journal as an HTTP Archive (HAR 1.2), which browsers and
// debugging proxies open. origin is what stands before the paths of the requests, such as
// "http://127.0.0.1:4010". The journal holds no API key, and so the archive holds none. The error
// is that of w.
func WriteHAR(w io.Writer, origin string, requests []Request) error {
	entries := make([]harEntry, len(requests))
	for i, r := range requests {
		entries[i] = harOf(origin, r)
	}
	archive := harRoot{harLog{"1.2", harCreator{"petstore-go fake", petstore.Version}, entries}}
	if err := json.NewEncoder(w).Encode(archive); err != nil {
		return fmt.Errorf("fake: WriteHAR: %w", err)
	}
	return nil
}

// The types below are those of the HTTP Archive format 1.2.

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
	HeadersSize int         `json:"headersSize"`
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

const (
	harVersion = "HTTP/1.1"
	harUnknown = -1 // of a size that the journal does not keep
)

func harOf(origin string, r Request) harEntry {
	target := r.Path
	if u, err := url.ParseRequestURI(target); err == nil && u.Host == "" && target != "*" {
		target = origin + target
	}
	took := float64(r.Duration) / float64(time.Millisecond)
	return harEntry{
		Started: r.Time.UTC(), Time: took,
		Request: harRequest{
			Method: r.Method, URL: target, HTTPVersion: harVersion, Cookies: []harPair{},
			Headers: harHeaders(r.Header), QueryString: harQuery(r.Path), PostData: harBody(r),
			HeadersSize: harUnknown, BodySize: len(r.Body),
		},
		Response: harResponse{
			Status: r.StatusCode, StatusText: http.StatusText(r.StatusCode), HTTPVersion: harVersion,
			Cookies: []harPair{}, Headers: harHeaders(r.AnswerHeader), Content: harAnswer(r),
			HeadersSize: harUnknown, BodySize: len(r.Answer),
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

func harQuery(path string) []harPair {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return []harPair{}
	}
	return harHeaders(http.Header(u.Query()))
}

// harBody returns the body of a request, nil for none. The format has no encoding for a request
// body that is no text, and so the comment names it.
func harBody(r Request) *harContent {
	if len(r.Body) == 0 {
		return nil
	}
	text, encoding := harText(r.Body)
	return &harContent{MimeType: r.Header.Get("Content-Type"), Text: text, Comment: encoding}
}

func harAnswer(r Request) harContent {
	size := len(r.Answer)
	text, encoding := harText(r.Answer)
	mediaType := r.AnswerHeader.Get("Content-Type")
	return harContent{Size: &size, MimeType: mediaType, Text: text, Encoding: encoding}
}

// harText returns a body as text with its encoding, which is empty for UTF-8.
func harText(body []byte) (text, encoding string) {
	if utf8.Valid(body) {
		return string(body), ""
	}
	return base64.StdEncoding.EncodeToString(body), "base64"
}

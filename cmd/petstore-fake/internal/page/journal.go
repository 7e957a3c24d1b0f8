package page

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/safetext"
)

// Request is a request of the fake's journal, with values that the page adds.
type Request struct {
	fake.Request

	// Sender is the key of the request, "none" without a key, or "unknown" if the key is not valid.
	Sender string
	// Violations are the violations that this request caused.
	Violations []fake.Violation
	// Since is the time since the previous request with the same key; -1 if there is none.
	Since time.Duration
}

// Journal returns the requests since the journal was cleared, oldest first.
func (p *Page) Journal() []*Request {
	requests, keys := p.srv.RequestsAfter(int(p.cleared.Load()), math.MaxInt32), p.srv.Keys()
	broken, last := make(map[int][]fake.Violation), make(map[int]time.Time)
	for _, v := range p.srv.Violations() {
		broken[v.Seq] = append(broken[v.Seq], v)
	}
	list := make([]*Request, len(requests))
	for i, one := range requests {
		r := &Request{Request: one, Sender: "unknown", Violations: broken[one.Seq], Since: -1}
		if before, known := last[one.Key]; known && one.Key > 0 {
			r.Since = one.Time.Sub(before)
		}
		if one.Key > 0 && one.Key <= len(keys) { // a reset may have removed the key
			r.Sender = keys[one.Key-1]
		} else if one.Header.Get("Authorization") == "" {
			r.Sender = "none"
		}
		last[one.Key] = one.Time
		list[i] = r
	}
	return list
}

// Pending reports whether the request still waits for its response.
func (r *Request) Pending() bool { return r.StatusCode == 0 && r.Hint == "" }

// Ended returns the time at which the response began, or the request failed without a response.
func (r *Request) Ended() time.Time { return r.Time.Add(r.Duration) }

// Status returns the status code or, without a response, "pending" or "none".
func (r *Request) Status() string {
	if r.StatusCode == 0 {
		return r.Class()
	}
	return strconv.Itoa(r.StatusCode)
}

// kind is a kind of response: its CSS class, its name on the page, and the words with which the
// field Find finds its requests.
type kind struct{ Class, Text, Find string }

// kinds has all kinds, from the best to the worst.
var kinds = []kind{
	{"fine", "2xx", "status:2xx"}, {"refused", "4xx", "status:4xx -status:429"}, {"limited", "429", "status:429"},
	{"failed", "5xx", "status:5xx"}, {"none", "no response", "status:none"},
}

// Class returns the CSS class that gives the status its colour and its shape.
func (r *Request) Class() string {
	switch status := r.StatusCode; {
	case r.Pending():
		return "pending"
	case status == 0:
		return "none"
	case status == http.StatusTooManyRequests:
		return "limited"
	case status >= 500:
		return "failed"
	case status >= 400:
		return "refused"
	}
	return "fine"
}

// Day returns the day, in UTC, on which the request arrived.
func (r *Request) Day() string { return r.Time.UTC().Format(time.DateOnly) }

// Target returns the path, without its version prefix, followed by the start of the body.
func (r *Request) Target() string {
	const maxStart = 60 // bytes
	body := strings.ToValidUTF8(string(r.Body[:min(len(r.Body), 2*maxStart)]), "")
	start := safetext.Shorten(strings.Join(strings.Fields(body), " "), maxStart)
	return strings.TrimSpace(shorten(strings.TrimPrefix(r.Path, "/v1")) + " " + start)
}

// Reset returns the time in X-RateLimit-Reset as text, because the header is a number of seconds.
// It adds how long after the response this time is.
func (r *Request) Reset() string {
	seconds, err := strconv.ParseInt(r.ResponseHeader.Get("X-Ratelimit-Reset"), 10, 64)
	if err != nil {
		return ""
	}
	reset := time.Unix(seconds, 0)
	return when(reset) + ", " + words(reset.Sub(r.Ended())) + " after this response"
}

// Why returns why the request was refused or has no response, otherwise what a fault did.
func (r *Request) Why() string { return shorten(cmp.Or(r.Hint, r.FaultEffect)) }

// shorten cuts a text to at most 512 bytes, because the page shows many such texts.
func shorten(s string) string { return safetext.Shorten(s, 512) }

// searchText returns the text in which the field Find searches for plain words, in lower case.
func (r *Request) searchText() string {
	var b bytes.Buffer
	fmt.Fprintln(&b, r.Operation, r.Method, r.Path, r.Sender, r.Hint, r.FaultEffect)
	for _, v := range r.Violations {
		fmt.Fprintln(&b, "violation", v.Rule, v.Detail)
	}
	_, _ = r.Header.Write(&b), r.ResponseHeader.Write(&b) // a write to a buffer cannot fail
	return strings.ToLower(b.String() + string(r.Body) + string(r.ResponseBody))
}

// Filter is a list of words in lower case. A request passes the filter if it has each of the words,
// and has none of the words that follow a minus sign. The empty Filter lets every request pass.
type Filter []string

// NewFilter returns the Filter of the words in a text.
func NewFilter(text string) Filter { return strings.Fields(strings.ToLower(text)) }

// Fits reports whether a request passes the filter.
func (f Filter) Fits(r *Request) bool {
	return !slices.ContainsFunc(f, func(word string) bool {
		plain, not := strings.CutPrefix(word, "-")
		return not == r.has(plain)
	})
}

// has reports whether a request has a word. A word such as status:4xx, operation:createPet or
// key:none looks only at the status, the operation or the key.
func (r *Request) has(word string) bool {
	name, value, isNamed := strings.Cut(word, ":")
	switch {
	case !isNamed: // a plain word, even if the word is status, operation or key
	case name == "status":
		fits, _ := path.Match(strings.ReplaceAll(value, "x", "?"), r.Status())
		return fits
	case name == "operation":
		return strings.EqualFold(cmp.Or(r.Operation, "none"), value)
	case name == "key":
		return strings.EqualFold(r.Sender, value)
	}
	return strings.Contains(r.searchText(), word)
}

package conformance

import (
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/safetext"
	"github.com/petstore/petstore-go/internal/service"
)

// request is what is sent to the service. It is comparable, so that of equal requests only one is
// sent.
type request struct {
	method string
	path   string // below the base address, with the query
	auth   string // Authorization header, in which $key stands for the key, and $half for its half
	body   string // JSON, in which $name and $category stand for valid values
	number int    // tells apart requests that are equal on purpose
}

const mediaJSON = "application/json"

// The values of the Authorization header.
const (
	validKey    = "Bearer $key"
	noKey       = ""
	invalidKey  = "Bearer petstore-go-conformance-no-such-key" // shows an operator where it comes from
	otherScheme = "Basic bm9ib2R5Om5vdGhpbmc="
)

func get(path string) request    { return request{http.MethodGet, path, validKey, "", 0} }
func create(body string) request { return request{http.MethodPost, "/pets", validKey, body, 0} }

// with returns the request with another Authorization header.
func (r request) with(auth string) request {
	r.auth = auth
	return r
}

// again returns the same request with a number: it is sent even if the request was sent before.
func (r request) again(number int) request {
	r.number = number
	return r
}

// exchange is a request with its response.
type exchange struct {
	request
	status   int
	header   http.Header
	response string
	at       time.Time // when the response arrived, by this machine's clock
}

// String describes the exchange for a message.
func (x *exchange) String() string {
	s := x.method + " " + x.path
	if x.body != "" {
		s += " " + safetext.Quote(x.body)
	}
	if x.auth != validKey {
		s += fmt.Sprintf(" with Authorization %q", x.auth)
	}
	return fmt.Sprintf("%s got %d with %s", s, x.status, safetext.Quote(x.response))
}

// failf ends the check.
func (x *exchange) failf(format string, args ...any) {
	fail(fmt.Errorf("%s\n\tin %s", fmt.Sprintf(format, args...), x))
}

// success reports whether the service has carried out the request.
func (x *exchange) success() bool { return x.status >= 200 && x.status <= 299 }

// accepted fails unless the request succeeded.
func (x *exchange) accepted() {
	if !x.success() {
		x.failf("the request must be accepted")
	}
}

// want fails unless the response has a status.
func (x *exchange) want(status int) {
	if x.status != status {
		x.failf("the response must be %d and is %d", status, x.status)
	}
}

// wantJSON fails unless the media type is JSON; it may have parameters, such as charset.
func (x *exchange) wantJSON() {
	value := x.header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(value); err != nil || media != mediaJSON {
		x.failf("the Content-Type must be application/json and is %q", value)
	}
}

// date is the time of the response, by the clock of the service if it sent a Date.
func (x *exchange) date() time.Time {
	if date, err := http.ParseTime(x.header.Get("Date")); err == nil {
		return date
	}
	return x.at
}

// local turns a time of the service's clock into one of this machine's. The Date header has whole
// seconds, rounded down, so that the result is never too early.
func (x *exchange) local(t time.Time) time.Time { return x.at.Add(t.Sub(x.date())) }

// quota is what the three headers of a response say (section 8.2).
type quota struct {
	limit, remaining int
	reset            time.Time
	known            bool // all three are there and make sense
}

func (x *exchange) quota() quota {
	limit, err1 := service.Requests(x.header, headerLimit)
	remaining, err2 := service.Requests(x.header, headerRemaining)
	reset, err3 := service.Reset(x.header, x.date())
	return quota{limit, remaining, reset, err1 == nil && err2 == nil && err3 == nil}
}

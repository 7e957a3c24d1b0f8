package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/internal/redact"
)

// request is what is sent to the service. It is comparable: the same request is sent only once.
type request struct {
	method string
	path   string // below the base address, with the query
	auth   credential
	media  string // Content-Type of the body
	body   string
	round  string // differs where the same request is to be sent again
}

const mediaJSON = "application/json"

func get(path string) request { return request{method: http.MethodGet, path: path} }

func post(body string) request {
	return request{method: http.MethodPost, path: "/pets", media: mediaJSON, body: body}
}

// credential is what a request has for an Authorization header.
type credential int

const (
	validKey credential = iota
	noKey
	invalidKey
	otherScheme
	lowerCase // the valid key, behind a scheme in lower case
)

// valid reports whether the request counts against the key's quota.
func (c credential) valid() bool { return c == validKey || c == lowerCase }

// unknownKey is a key that no service knows. Its text shows an operator where it comes from.
const unknownKey = "petstore-go-conformance-no-such-key"

// header returns the Authorization header, empty for none.
func (c credential) header(key string) string {
	switch c {
	case noKey:
		return ""
	case invalidKey:
		return "Bearer " + unknownKey
	case otherScheme:
		return "Basic bm9ib2R5Om5vdGhpbmc=" // never the key: it belongs to the Bearer scheme
	case lowerCase:
		return "bearer " + key
	}
	return "Bearer " + key
}

// exchange is a request with its response.
type exchange struct {
	request
	status   int
	header   http.Header
	response []byte
	at       time.Time // when it arrived, by the clock of this side
}

// redact takes the key out of a response that repeats it: messages go into logs, observations into
// files.
func (x *exchange) redact(key string) {
	x.response = []byte(redact.Text(string(x.response), key))
	x.header = redact.Header(x.header, key)
}

// String describes the exchange for a message.
func (x *exchange) String() string {
	s := x.method + " " + x.path
	if x.body != "" {
		s += " " + show([]byte(x.body))
	}
	switch x.auth {
	case noKey:
		s += " without a key"
	case invalidKey:
		s += " with an invalid key"
	case otherScheme:
		s += " with another scheme"
	}
	return fmt.Sprintf("%s got %d with %s", s, x.status, show(x.response))
}

// failf ends the check: something about the exchange is not as it should be.
func (x *exchange) failf(format string, args ...any) {
	fail(fmt.Errorf("%s\n\tin %s", fmt.Sprintf(format, args...), x))
}

// success reports whether the service did as it was asked.
func (x *exchange) success() bool { return x.status >= 200 && x.status <= 299 }

// want fails unless the response has a status.
func (x *exchange) want(status int) {
	if x.status != status {
		x.failf("the response must be %d and is %d", status, x.status)
	}
}

// date is the time of the response, by the clock of the service if it sent a Date.
func (x *exchange) date() time.Time {
	if date, err := http.ParseTime(x.header.Get("Date")); err == nil {
		return date
	}
	return x.at
}

// quota is what the three headers of a response say (section 8.2).
type quota struct {
	limit, remaining int
	reset            int64
	known            bool // all three are there and make sense
}

func (x *exchange) quota() quota {
	limit := x.header.Get(headerLimit)
	remaining := x.header.Get(headerRemaining)
	reset := x.header.Get(headerReset)
	if isCount(limit, x) != nil || isCount(remaining, x) != nil || isTimestamp(reset, x) != nil {
		return quota{}
	}
	q := quota{known: true}
	q.limit, _ = strconv.Atoi(limit)
	q.remaining, _ = strconv.Atoi(remaining)
	q.reset, _ = strconv.ParseInt(reset, 10, 64)
	return q
}

// sameWindow reports whether both responses show the same window.
func (q quota) sameWindow(o quota) bool {
	return q.known && o.known && q.reset == o.reset && q.limit == o.limit
}

// pet is one Pet object of a response.
type pet struct {
	from   *exchange
	fields map[string]json.RawMessage
}

// id returns the pet's id as it is written.
func (p pet) id() string { return string(p.fields["id"]) }

// pet reads the body of a success as one Pet.
func (x *exchange) pet() pet {
	if !x.success() {
		skipf("there is no pet to look at: %s", x)
	}
	fields, err := object(x.response)
	if err != nil {
		x.failf("the body is no Pet: %v", err)
	}
	return pet{x, fields}
}

// pets reads the body of a success as Pets.
func (x *exchange) pets() []pet {
	if !x.success() {
		skipf("there is no list to look at: %s", x)
	}
	items, err := array(x.response)
	if err != nil {
		x.failf("the body is no Pets: %v", err)
	}
	list := make([]pet, 0, len(items))
	for _, item := range items {
		fields, err := object(item)
		if err != nil {
			x.failf("an element is no Pet: %v", err)
		}
		list = append(list, pet{x, fields})
	}
	return list
}

package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// request is a request to the service. It is comparable, since it is the key of session.memo.
type request struct {
	method string
	path   string // below the base address, with the query
	auth   string // Authorization header, in which $key, $half and $KEY stand for the key, its half, its capitals
	body   string // JSON, in which $name, $unicode and $category stand for valid values
}

// The values of the Authorization header.
const (
	validKey   = "Bearer $key"
	noKey      = ""
	invalidKey = "Bearer petstore-go-conformance-no-such-key" // an operator sees where it comes from
)

func get(path string) request    { return request{http.MethodGet, path, validKey, ""} }
func create(body string) request { return request{http.MethodPost, "/pets", validKey, body} }

var (
	getPets    = get("/pets")
	getUnknown = get("/pets/9223372036854775807") // hardly the id of a pet
)

// exchange is a request with its response.
type exchange struct {
	request
	status   int
	header   http.Header
	response string
	at       time.Time // when the response arrived, by this machine's clock
	date     time.Time // the Date of the response, by the clock of the service; at if there is none
}

// expect ends the check unless ok is true. The text says what was expected, and what came.
func (x *exchange) expect(ok bool, format string, args ...any) {
	if !ok {
		args = append(args, x.method, x.path, x.auth, x.body, x.status, x.response)
		panic(&problem{text: fmt.Sprintf("expected "+format+"\n\tin %s %s [%s] %s, which got %d %q", args...)})
	}
}

// success reports whether the service has carried out the request.
func (x *exchange) success() bool { return x.status >= 200 && x.status <= 299 }

// want ends the check unless the response has this status.
func (x *exchange) want(status int) { x.expect(x.status == status, "%d, got %d", status, x.status) }

// wantJSON ends the check unless the media type is JSON. It may have parameters, such as charset.
func (x *exchange) wantJSON() {
	value := x.header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(value)
	x.expect(err == nil && media == "application/json", "Content-Type application/json, got %q", value)
}

// object is a JSON object: a Pet or an Error. A field that is missing is nil.
type object map[string]json.RawMessage

// id returns a pet's id as it is written.
func (o object) id() string { return string(o["id"]) }

// equal reports whether two JSON values are equal. Strings may be escaped in different ways.
func equal(a, b []byte) bool {
	var s, t string
	return bytes.Equal(a, b) || json.Unmarshal(a, &s) == nil && json.Unmarshal(b, &t) == nil && s == t
}

// objects returns the pets of a list. Of any other response, it returns the one object in the body.
func (x *exchange) objects() []object {
	list, want := make([]object, 1), "an object"
	var target any = &list[0]
	if x.success() && x.method == http.MethodGet && !strings.HasPrefix(x.path, "/pets/") {
		target, want = &list, "an array of objects"
	}
	err := json.Unmarshal([]byte(x.response), target)
	null := func(o object) bool { return o == nil }
	x.expect(err == nil && list != nil && !slices.ContainsFunc(list, null), "%s, got another body", want)
	return list
}

// pets returns the pets of a success.
func (x *exchange) pets() []object {
	x.expect(x.success(), "a success, got %d", x.status)
	return x.objects()
}

// pet returns the one pet of a success.
func (x *exchange) pet() object { return x.pets()[0] }

// wantPet ends the check unless pet has all fields of other, with equal values. If other has no
// status, pet may have one: section 3 does not show the default.
func (x *exchange) wantPet(pet, other object) {
	for _, name := range []string{"id", "name", "categoryId", "status"} {
		want, got := other[name], pet[name]
		x.expect(want == nil || equal(want, got), "%s as %s of pet %s, got %s", want, name, pet.id(), shown(got))
	}
}

// shown returns a JSON value for a message, or "nothing" if it is missing.
func shown(raw []byte) string { return cmp.Or(string(raw), "nothing") }

// The headers of every response (section 8.2).
const (
	headerLimit     = "X-RateLimit-Limit"
	headerRemaining = "X-RateLimit-Remaining"
	headerReset     = "X-RateLimit-Reset"
)

// quota has the values of the three headers of a response.
type quota struct {
	limit, remaining int
	reset            time.Time
}

// quota returns the quota, and whether all three headers are there and make sense.
func (x *exchange) quota() (quota, bool) {
	limit, ok1 := x.number(headerLimit)
	remaining, ok2 := x.number(headerRemaining)
	reset, ok3 := x.reset()
	return quota{limit, remaining, reset}, ok1 && ok2 && ok3
}

// number reads a header that is a number of requests.
func (x *exchange) number(header string) (int, bool) {
	n, err := strconv.Atoi(x.header.Get(header))
	return n, err == nil && n >= 0
}

// reset reads X-RateLimit-Reset. It refuses a time more than a year away, since no limit lasts that
// long: the number must be in another unit, such as milliseconds, or seconds from now.
func (x *exchange) reset() (time.Time, bool) {
	const year = 366 * 24 * time.Hour
	seconds, err := strconv.ParseInt(x.header.Get(headerReset), 10, 64)
	t := time.Unix(seconds, 0)
	return t, err == nil && t.Sub(x.date).Abs() <= year
}

// retryAfter reads Retry-After, a number of seconds or a date: section 8.4 does not say which.
// The result is 0 if the header asks for no wait.
func (x *exchange) retryAfter() time.Duration {
	value := x.header.Get("Retry-After")
	if d, err := time.ParseDuration(value + "s"); err == nil {
		return d
	}
	if date, err := http.ParseTime(value); err == nil {
		return date.Sub(x.date)
	}
	return 0
}

// wait returns how long a response asks to wait: until Retry-After or X-RateLimit-Reset, whichever
// is later, or a minute if neither names a time to come.
func (x *exchange) wait() time.Duration {
	d := x.retryAfter()
	if q, ok := x.quota(); ok {
		d = max(d, q.reset.Sub(x.date))
	}
	if d <= 0 {
		return time.Minute
	}
	return d
}

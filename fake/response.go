package fake

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const mediaJSON = "application/json"

// response is the server's decision about a request. Each entry point sends it in its own way.
type response struct {
	status      int // 0: none is sent
	contentType string
	body        []byte
	extra       http.Header // of this response alone, under canonical names
	hint        string      // why the request was refused
	quota       quota
	now         time.Time
	wire        Wire
	fault       *Fault
	until       time.Time // when a 429 allows the next request, zero if it does not say
	head        bool      // the request was a HEAD, whose response has no body
	size        int       // of body, for Content-Length
	lost        error     // why there is no response
}

// refusal returns a response with an Error object.
func refusal(status int, format string, args ...any) response {
	message := fmt.Sprintf(format, args...)
	return response{
		status:      status,
		contentType: mediaJSON,
		body:        appendError(nil, codeOf(status), message, status),
		hint:        message,
	}
}

func (a *response) set(key, value string) {
	if a.extra == nil {
		a.extra = make(http.Header)
	}
	a.extra.Set(key, value)
}

func (a *response) apply(f *Fault) {
	a.fault, a.wire = f, f.Wire
	if f.Status != 0 {
		a.status = f.Status
	}
	if f.Status != 0 || !f.Wire.shows() {
		a.hint = "injected " + f.String()
	}
	if f.Status >= http.StatusBadRequest {
		a.contentType = mediaJSON
		a.body = appendError(nil, cmp.Or(f.Code, codeOf(f.Status)), cmp.Or(f.Message, a.hint), f.Status)
	}
	if f.Body != nil {
		a.body, a.contentType = f.Body, cmp.Or(a.contentType, mediaJSON)
	}
	if f.RetryAfter != "" {
		a.set("Retry-After", f.RetryAfter)
	}
}

// header writes the header into h, whose keys are canonical. One array holds all values.
func (a *response) header(h http.Header) {
	values := make([]string, 0, 6)
	set := func(key, value string) {
		values = append(values, value)
		h[key] = values[len(values)-1 : len(values) : len(values)]
	}
	if a.contentType != "" {
		set("Content-Type", a.contentType)
	}
	set("Content-Length", strconv.Itoa(a.size))
	set("Date", a.now.UTC().Format(http.TimeFormat))
	set("X-Ratelimit-Limit", strconv.Itoa(a.quota.limit))
	set("X-Ratelimit-Remaining", strconv.Itoa(a.quota.remaining))
	if a.quota.reset != noReset {
		set("X-Ratelimit-Reset", strconv.FormatInt(a.quota.reset, 10))
	}
	for name, values := range a.extra {
		h[name] = slices.Clone(values)
	}
	if a.fault != nil {
		a.fault.header(h)
	}
	if a.wire == WireTruncate && a.size == 0 {
		h["Content-Length"] = []string{"1"} // so that nothing is less than was announced
	}
	if bodiless(a.status) {
		delete(h, "Content-Length")
		delete(h, "Content-Type")
	}
}

func (a *response) payload() []byte {
	switch {
	case a.head || bodiless(a.status):
		return nil
	case a.wire == WireTruncate:
		return a.body[:len(a.body)/2]
	}
	return a.body
}

// bodiless reports whether responses of this status have no body.
func bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// sent reports whether anything of a response is sent.
func (a *response) sent() bool { return a.lost == nil && a.wire.shows() }

// comeBack returns the time until which a 429 asks its client to wait, the zero time if it does not
// ask. The Retry-After of a 503 concerns only the call that got it: section 8.3 is about a 429.
func (a *response) comeBack() time.Time {
	if f := a.fault; f != nil {
		if _, changed := f.Header["Retry-After"]; changed || f.Status != 0 || f.RetryAfter != "" {
			return f.comeBack(a.now)
		}
	}
	return a.until
}

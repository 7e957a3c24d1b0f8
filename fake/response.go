package fake

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const mediaJSON = "application/json"

// The rate limit headers (section 8.2), in the case of the keys of an http.Header.
const (
	headerLimit     = "X-Ratelimit-Limit"
	headerRemaining = "X-Ratelimit-Remaining"
	headerReset     = "X-Ratelimit-Reset"
)

// response is the server's decision about a request.
type response struct {
	status int         // 0: none is sent
	header http.Header // a name without values is not sent
	body   []byte
	hint   string // why the request was refused
	quota  quota
	fault  *Fault // that changes it; nil: none
	lost   error  // why there is no response
}

// newResponse returns a response with a body of JSON.
func newResponse(status int, body []byte) response {
	h := make(http.Header, 8)
	h["Content-Type"] = []string{mediaJSON}
	return response{status: status, header: h, body: body}
}

// errorBody returns an Error object (section 7).
func errorBody(status int, code, message string) []byte {
	b := appendString([]byte(`{"code":`), code)
	b = appendString(append(b, `,"message":`...), message)
	return fmt.Appendf(b, `,"status":%d}`, status)
}

// refusal returns a response with an Error object.
func refusal(status int, format string, args ...any) response {
	message := fmt.Sprintf(format, args...)
	a := newResponse(status, errorBody(status, codeOf(status), message))
	a.hint = message
	return a
}

// codeOf returns the code of the Error objects of a status. The document names none (section 7):
// these are the fake's own, and no promise of the service.
func codeOf(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "invalid_request"
	case http.StatusTooManyRequests:
		return "rate_limited"
	case http.StatusInternalServerError:
		return "internal_error"
	}
	text := strings.ToLower(http.StatusText(status))
	if text == "" {
		return "injected"
	}
	return strings.NewReplacer(" ", "_", "-", "_", "'", "").Replace(text)
}

// noFault changes nothing.
var noFault = new(Fault)

// apply changes the response, which may be the zero one, as a fault says.
func (a *response) apply(f *Fault) {
	a.fault = f
	if a.header == nil {
		a.header = make(http.Header)
	}
	if !f.changes() {
		a.hint = "injected " + f.String()
	}
	switch {
	case f.Wire == WireLoginPage:
		a.becomeLoginPage(f.Status)
	case f.Status >= http.StatusBadRequest:
		a.header.Set("Content-Type", mediaJSON)
		a.body = errorBody(f.Status, cmp.Or(f.Code, codeOf(f.Status)), cmp.Or(f.Message, a.hint))
		fallthrough
	case f.Status != 0:
		a.status = f.Status
	}
	if f.Body != nil {
		a.body = f.Body
		if a.header.Get("Content-Type") == "" {
			a.header.Set("Content-Type", mediaJSON)
		}
	}
	if f.RetryAfter != "" {
		a.header.Set("Retry-After", f.RetryAfter)
	}
}

// becomeLoginPage puts a page of a proxy in place of the response. A proxy sends no quota.
func (a *response) becomeLoginPage(status int) {
	a.status = cmp.Or(status, http.StatusOK)
	a.header = http.Header{
		"Content-Type": {"text/html; charset=utf-8"}, headerLimit: nil, headerRemaining: nil, headerReset: nil,
	}
	a.body = []byte("<!DOCTYPE html>\n<title>Log in</title>\n<form method=post><input name=user></form>\n")
	if a.status/100 == 3 {
		a.header.Set("Location", "http://login.example/")
	}
}

// send completes the response to a request and sends it. The journal gets it first, so that a
// client that has its response finds it there.
func (x *exchange) send(w http.ResponseWriter, a *response) {
	now := x.srv.Now()
	if a.quota == (quota{}) {
		a.quota = x.quota(now)
	}
	a.fault = cmp.Or(a.fault, noFault)
	a.complete(now, x.method == http.MethodHead)
	x.record(a, now)
	a.deliver(w, x)
}

// complete adds the headers that every response has, and cuts off the part of the body that is not
// sent.
func (a *response) complete(now time.Time, head bool) {
	if !a.sent() {
		a.status, a.header, a.body = 0, nil, nil
		return
	}
	values := make([]string, 0, 5) // of all headers, since one allocation costs less than five
	add := func(name, value string) {
		if _, has := a.header[name]; !has {
			values = append(values, value)
			a.header[name] = values[len(values)-1 : len(values) : len(values)]
		}
	}
	length := len(a.body)
	if a.fault.Wire == WireTruncate {
		length = max(length, 1) // so that an empty body counts as cut off, too
		a.body = a.body[:len(a.body)/2]
	}
	add("Content-Length", strconv.Itoa(length))
	add("Date", now.UTC().Format(http.TimeFormat))
	add(headerLimit, strconv.Itoa(a.quota.limit))
	add(headerRemaining, strconv.Itoa(a.quota.remaining))
	if a.quota.reset != noReset {
		add(headerReset, strconv.FormatInt(a.quota.reset, 10))
	}
	maps.Copy(a.header, a.fault.Header) // a nil value stays: it keeps net/http from adding its own
	if bodiless(a.status) {
		delete(a.header, "Content-Length")
		delete(a.header, "Content-Type")
	}
	if head || bodiless(a.status) {
		a.body = nil
	}
}

// bodiless reports whether responses of this status have no body.
func bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// sent reports whether anything of a response is sent.
func (a *response) sent() bool { return a.lost == nil && a.fault.Wire.shows() }

// deliver sends the response, or the part of it that a fault lets through. A fault may also have it
// break the connection.
func (a *response) deliver(w http.ResponseWriter, x *exchange) {
	if a.lost != nil {
		panic(http.ErrAbortHandler)
	}
	if !a.fault.Wire.shows() {
		a.fault.Wire.row().breakOff(w)
		return
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	if a.fault.Drip > 0 {
		a.drip(w, x)
	} else {
		_, _ = w.Write(a.body) // the client may be gone
	}
	if a.fault.Wire == WireTruncate {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// drip sends the body in pieces, with the same pause before each.
func (a *response) drip(w http.ResponseWriter, x *exchange) {
	const most = 100
	pieces := min(len(a.body), most)
	pause := a.fault.Drip / time.Duration(max(pieces, 1))
	rest := a.fault.Drip % time.Duration(max(pieces, 1)) // passes before the first piece
	for i := range pieces {
		_ = http.NewResponseController(w).Flush()
		if x.pause(pause+rest) != nil {
			panic(http.ErrAbortHandler)
		}
		rest = 0
		if i == pieces-1 && a.fault.Wire != WireTruncate {
			x.delivered()
		}
		_, _ = w.Write(a.body[len(a.body)*i/pieces : len(a.body)*(i+1)/pieces])
	}
}

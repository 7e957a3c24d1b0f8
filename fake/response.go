package fake

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/internal/service"
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
	status      int // 0: none is sent
	contentType string
	body        []byte
	extra       http.Header // of this response alone
	hint        string      // why the request was refused
	quota       quota
	fault       Fault     // the zero Fault changes nothing
	effect      string    // of the fault, in words
	until       time.Time // when a 429 allows the next request, zero if it does not say
	lost        error     // why there is no response

	header http.Header // once it is complete
}

// refusal returns a response with an Error object.
func refusal(status int, format string, args ...any) response {
	message := fmt.Sprintf(format, args...)
	return response{
		status:      status,
		contentType: mediaJSON,
		body:        encode(errorJSON{codeOf(status), message, status}),
		hint:        message,
	}
}

// set sets a header of the response; without values it is not sent.
func (a *response) set(key string, values ...string) {
	if a.extra == nil {
		a.extra = make(http.Header)
	}
	a.extra[http.CanonicalHeaderKey(key)] = values
}

func (a *response) apply(f *Fault) {
	a.fault, a.effect = *f, f.effect()
	if f.Wire == WireLoginPage {
		a.becomeLoginPage()
	}
	if f.Status != 0 {
		a.status = f.Status
	}
	if !f.changes() {
		a.hint = "injected " + f.String()
	}
	if f.Status >= http.StatusBadRequest && f.Wire != WireLoginPage {
		a.contentType = mediaJSON
		a.body = encode(errorJSON{cmp.Or(f.Code, codeOf(f.Status)), cmp.Or(f.Message, a.hint), f.Status})
	}
	if f.Body != nil {
		a.body, a.contentType = f.Body, cmp.Or(a.contentType, mediaJSON)
	}
	if f.RetryAfter != "" {
		a.set("Retry-After", f.RetryAfter)
	}
}

// becomeLoginPage puts a page of a proxy in place of the response. A proxy sends no quota.
func (a *response) becomeLoginPage() {
	a.status, a.contentType, a.extra = http.StatusOK, "text/html; charset=utf-8", nil
	a.body = []byte("<!DOCTYPE html>\n<title>Log in</title>\n<form method=post><input name=user></form>\n")
	for _, name := range []string{headerLimit, headerRemaining, headerReset} {
		a.set(name)
	}
	if a.fault.Status/100 == 3 {
		a.set("Location", "http://login.example/")
	}
}

// send completes the response to a request and sends it. The journal has it before, so that a
// client that has its response finds it there.
func (x *exchange) send(w http.ResponseWriter, a *response) {
	now := x.srv.Now()
	if a.quota == (quota{}) {
		a.quota = x.quota(now)
	}
	a.complete(now, x.method == http.MethodHead)
	x.record(a, now)
	a.deliver(w, x)
}

// complete gives the response its header, and takes from its body what is not sent.
func (a *response) complete(now time.Time, head bool) {
	h := make(http.Header, 8)
	a.header = h
	values := make([]string, 0, 6) // of all fields, since one allocation costs less than six
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	if a.contentType != "" {
		set("Content-Type", a.contentType)
	}
	set("Content-Length", strconv.Itoa(len(a.body)))
	set("Date", now.UTC().Format(http.TimeFormat))
	set(headerLimit, strconv.Itoa(a.quota.limit))
	set(headerRemaining, strconv.Itoa(a.quota.remaining))
	if a.quota.reset != noReset {
		set(headerReset, strconv.FormatInt(a.quota.reset, 10))
	}
	maps.Copy(h, a.extra)
	maps.Copy(h, a.fault.Header) // a nil value stays: it keeps net/http from adding its own
	if a.fault.Wire == WireTruncate {
		if len(a.body) == 0 {
			h.Set("Content-Length", "1") // so that nothing is less than was announced
		}
		a.body = a.body[:len(a.body)/2]
	}
	if bodiless(a.status) {
		delete(h, "Content-Length")
		delete(h, "Content-Type")
	}
	if head || bodiless(a.status) {
		a.body = nil
	}
	if !a.sent() {
		a.status, a.header, a.body = 0, nil, nil
	}
}

// bodiless reports whether responses of this status have no body.
func bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// sent reports whether anything of a response is sent.
func (a *response) sent() bool { return a.lost == nil && a.fault.Wire.shows() }

// comeBack returns the time until which a 429 asks its client to wait, the zero time if it does not
// ask. The Retry-After of a 503 concerns only the call that got it: section 8.3 is about a 429.
func (a *response) comeBack(now time.Time) time.Time {
	f := a.fault
	if _, changed := f.Header["Retry-After"]; changed || f.Status != 0 || f.RetryAfter != "" {
		return service.RetryAfter(cmp.Or(f.Header.Get("Retry-After"), f.RetryAfter), now)
	}
	return a.until
}

// deliver sends the response over a connection, the part of it that a fault lets through, or does
// to the connection what a fault asks for.
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
	pieces := min(len(a.body), 100)
	sent := 0
	for i := range pieces {
		_ = http.NewResponseController(w).Flush()
		end := a.fault.Drip * time.Duration(i+1) / time.Duration(pieces)
		if x.pause(end-a.fault.Drip*time.Duration(i)/time.Duration(pieces)) != nil {
			panic(http.ErrAbortHandler)
		}
		if i == pieces-1 && a.fault.Wire != WireTruncate {
			x.delivered()
		}
		to := len(a.body) * (i + 1) / pieces
		_, _ = w.Write(a.body[sent:to])
		sent = to
	}
}

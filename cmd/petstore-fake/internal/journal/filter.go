package journal

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// Parameters returns the parameters of a query that Filter reads.
func Parameters() []string {
	return []string{"operation", "method", "status", "key", "fault", "violation", "text", "at", "before"}
}

// Filter reads the filters of a request's query; nil lets every request pass. An operation "none"
// is that of a request which fits no operation.
func Filter(q *httpjson.Query) func(Entry) bool {
	operation := q.Text("operation", append(fakecontrol.Operations(), "none")...)
	method := q.Text("method")
	status := statusFilter(q)
	key := keyFilter(q)
	fault := q.Text("fault", "true", "false")
	rules := []string{"true", "false"}
	for _, rule := range fakecontrol.Rules() {
		rules = append(rules, string(rule))
	}
	violation := q.Text("violation", rules...)
	text := textFilter(q.Text("text"))
	between := timeFilter(q)
	before := math.MaxInt
	if q.Text("before") != "" { // forms send empty fields
		before = int(q.Number("before", 0, math.MaxInt32, 0))
	}
	if !slices.ContainsFunc(Parameters(), func(name string) bool { return q.Values.Get(name) != "" }) {
		return nil
	}
	return func(e Entry) bool {
		switch {
		case operation != "" && cmp.Or(e.Operation, "none") != operation,
			method != "" && e.Method != method,
			e.Seq >= before,
			fault != "" && (e.FaultEffect != "") != (fault == "true"):
			return false
		}
		return status(e.StatusCode) && key(e.Request) && breaks(e.Violations, violation) && between(e) && text(e)
	}
}

// breaks reports whether there is a violation of a rule, of any for "true", of none for "false".
func breaks(violations []fake.Violation, rule string) bool {
	switch rule {
	case "":
		return true
	case "true", "false":
		return (len(violations) > 0) == (rule == "true")
	}
	return slices.ContainsFunc(violations, func(v fake.Violation) bool { return string(v.Rule) == rule })
}

// textFilter returns whether a text is anywhere in a request or its response, in upper or lower
// case.
func textFilter(text string) func(Entry) bool {
	if text = strings.ToLower(text); text == "" {
		return func(Entry) bool { return true }
	}
	return func(e Entry) bool {
		var all strings.Builder
		fmt.Fprintf(&all, "%s %s %s %s %s %v", e.Operation, e.Method, e.Path, e.Hint, e.FaultEffect, e.Violations)
		for _, h := range []http.Header{e.Header, e.ResponseHeader} {
			for name, values := range h {
				fmt.Fprintf(&all, "\n%s: %s", name, strings.Join(values, ", "))
			}
		}
		return strings.Contains(strings.ToLower(all.String()), text) ||
			bytes.Contains(bytes.ToLower(e.Body), []byte(text)) ||
			bytes.Contains(bytes.ToLower(e.ResponseBody), []byte(text))
	}
}

// SlotSeconds is the length of the times by which requests are counted and found, in seconds.
const SlotSeconds = 5

// timeFilter reads the begin of the five seconds in which a request got its response.
func timeFilter(q *httpjson.Query) func(Entry) bool {
	if q.Text("at") == "" {
		return func(Entry) bool { return true }
	}
	at := q.Number("at", 0, math.MaxUint32, 0)
	return func(e Entry) bool {
		ended := e.Time.Add(e.Duration).Unix()
		return ended >= at && ended < at+SlotSeconds
	}
}

// statusFilter reads a status such as 429, a class such as 4xx, or 0 for no response.
func statusFilter(q *httpjson.Query) func(int) bool {
	text := q.Text("status")
	if text == "" {
		return func(int) bool { return true }
	}
	if len(text) == 3 && text[0] >= '1' && text[0] <= '9' && text[1:] == "xx" {
		return func(status int) bool { return status/100 == int(text[0]-'0') }
	}
	want, err := strconv.Atoi(text)
	if err != nil || want < 0 || want > 999 {
		q.Fail("status is %q; it must be a number such as 429, a class such as 4xx, or 0 for no response",
			spec.Clip(text))
	}
	return func(status int) bool { return status == want }
}

// keyFilter reads the id of a key, none or unknown.
func keyFilter(q *httpjson.Query) func(fake.Request) bool {
	text := q.Text("key")
	if text == "" {
		return func(fake.Request) bool { return true }
	}
	want, err := strconv.Atoi(text)
	if text != KeyNone && text != KeyUnknown && (err != nil || want < 1) {
		// The error does not repeat the text, which may be a key by mistake.
		q.Fail("key must be the id of a key, %s or %s; GET /_fake/keys lists the ids", KeyNone, KeyUnknown)
	}
	return func(r fake.Request) bool {
		return r.Key == want && (want > 0 || Keyless(r) == text)
	}
}

// The senders that have no key of the fake.
const (
	KeyNone    = "none"    // no credentials
	KeyUnknown = "unknown" // credentials that are not a valid key
)

// Keyless returns the word for a request without a key of the fake.
func Keyless(r fake.Request) string {
	if r.Header.Get("Authorization") == "" {
		return KeyNone
	}
	return KeyUnknown
}

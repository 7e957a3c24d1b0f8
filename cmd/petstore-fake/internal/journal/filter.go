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

// Parameters returns the parameters of a query that NewFilter reads.
func Parameters() []string {
	return []string{"operation", "method", "status", "key", "fault", "violation", "before", "text"}
}

// Filter chooses requests. The zero Filter lets every request pass.
type Filter struct {
	others []func(Entry) bool
	status func(status int) bool
	// Given reports whether anything is filtered.
	Given bool
}

// NewFilter reads the filters of a request's query. Words of the text such as status:429 are filters
// as well, and win over the parameter of that name.
func NewFilter(q *httpjson.Query) Filter {
	given := make(map[string]string)
	for _, name := range Parameters() {
		given[name] = q.Values.Get(name)
	}
	var words []string
	for word := range strings.FieldsSeq(given["text"]) {
		name, value, isFilter := strings.Cut(word, ":")
		if _, is := given[name]; is && name != "text" && isFilter {
			given[name] = value
		} else {
			words = append(words, word)
		}
	}
	given["text"] = strings.Join(words, " ")
	var f Filter
	for _, name := range Parameters() {
		if value := given[name]; value != "" {
			f.add(q, name, value)
			f.Given = true
		}
	}
	return f
}

// add adds the filter of a parameter.
func (f *Filter) add(q *httpjson.Query, name, value string) {
	var fits func(Entry) bool
	switch name {
	case "operation": // "none" is that of a request which fits no operation
		q.OneOf(name, value, append(fakecontrol.Operations(), "none"))
		fits = func(e Entry) bool { return cmp.Or(e.Operation, "none") == value }
	case "method":
		fits = func(e Entry) bool { return e.Method == value }
	case "status":
		f.status = statusFilter(q, value)
		return
	case "key":
		fits = keyFilter(q, value)
	case "fault":
		q.OneOf(name, value, []string{"true", "false"})
		fits = func(e Entry) bool { return (e.FaultEffect != "") == (value == "true") }
	case "violation":
		rules := []string{"true", "false"}
		for _, rule := range fakecontrol.Rules() {
			rules = append(rules, string(rule))
		}
		q.OneOf(name, value, rules)
		fits = func(e Entry) bool { return breaks(e.Violations, value) }
	case "before":
		before := q.ParseNumber(name, value, 0, math.MaxInt32)
		fits = func(e Entry) bool { return int64(e.Seq) < before }
	case "text":
		fits = textFilter(value)
	}
	f.others = append(f.others, fits)
}

// FitsStatus reports whether a status passes.
func (f Filter) FitsStatus(status int) bool { return f.status == nil || f.status(status) }

// breaks reports whether there is a violation of a rule, of any for "true", of none for "false".
func breaks(violations []fake.Violation, rule string) bool {
	if rule == "true" || rule == "false" {
		return (len(violations) > 0) == (rule == "true")
	}
	return slices.ContainsFunc(violations, func(v fake.Violation) bool { return string(v.Rule) == rule })
}

// textFilter returns whether a text is anywhere in a request or its response, in upper or lower
// case.
func textFilter(text string) func(Entry) bool {
	text = strings.ToLower(text)
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

// statusFilter reads a status such as 429, a class such as 4xx or 4xx-429, or 0 for no response.
func statusFilter(q *httpjson.Query, text string) func(int) bool {
	if class, without, found := strings.Cut(text, "-"); found && class != "" {
		fits, not := statusFilter(q, class), statusFilter(q, without)
		return func(status int) bool { return fits(status) && !not(status) }
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
func keyFilter(q *httpjson.Query, text string) func(Entry) bool {
	want, err := strconv.Atoi(text)
	if text != KeyNone && text != KeyUnknown && (err != nil || want < 1) {
		// The error does not repeat the text, which may be a key by mistake.
		q.Fail("key must be the id of a key, %s or %s; GET /_fake/keys lists the ids", KeyNone, KeyUnknown)
	}
	return func(e Entry) bool {
		return e.Key == want && (want > 0 || Keyless(e.Request) == text)
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

// MaskKey returns what is shown of a key: enough to recognise it, too little to use it. The default
// key is in the documentation.
func MaskKey(key string) string {
	const shown, long = 3, 12
	switch {
	case key == fake.DefaultAPIKey:
		return key
	case len(key) < long:
		return "…"
	}
	return key[:shown] + "…"
}

package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// Filter chooses requests. The zero Filter lets every request pass.
type Filter struct {
	status func(status int) bool // nil for every status
	others []condition
}

// condition reports whether a request passes.
type condition = func(Entry) bool

// Given reports whether anything is filtered.
func (f Filter) Given() bool { return f.status != nil || f.others != nil }

// Fits reports whether the request with a seq passes a filter, whatever its status.
func (j *Journal) Fits(f Filter, seq int) bool {
	if f.others == nil {
		return true
	}
	e, ok := j.Entry(seq)
	return ok && !slices.ContainsFunc(f.others, func(fits condition) bool { return !fits(e) })
}

// FitsStatus reports whether a status passes.
func (f Filter) FitsStatus(status int) bool { return f.status == nil || f.status(status) }

// Parameters returns the parameters of a query that NewFilter reads.
func Parameters() []string {
	return []string{"operation", "method", "status", "key", "fault", "violation", "before", "since", "text"}
}

// NewFilter reads the filters of a query. Words of the text such as status:429 are filters as well,
// and win over the parameter of that name.
func NewFilter(query url.Values) (f Filter, err error) {
	given := make(map[string]string)
	for _, name := range Parameters() {
		given[name] = query.Get(name)
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
	for _, name := range Parameters() {
		if value := given[name]; value != "" {
			err = cmp.Or(err, f.add(name, value))
		}
	}
	return f, err
}

// add adds the filter of a parameter. Most compare a word, which must be one of some, with those
// that a request has.
func (f *Filter) add(name, value string) (err error) {
	words := []string{value}
	var of func(Entry) []string
	switch name {
	case "status":
		f.status, err = statusFilter(value)
		return err
	case "text":
		f.others = append(f.others, textFilter(value))
		return nil
	case "before", "since":
		limit, err := spec.ReadNumber(name, value, 0, math.MaxInt32, 0)
		f.others = append(f.others, func(e Entry) bool { return e.Seq != limit && (e.Seq < limit) == (name == "before") })
		return err
	case "operation":
		words = []string{"none"}
		for _, o := range fake.Operations() {
			words = append(words, o.Name)
		}
		of = func(e Entry) []string { return []string{cmp.Or(e.Operation, "none")} }
	case "method":
		of = func(e Entry) []string { return []string{e.Method} }
	case "key":
		if !keyWord.MatchString(value) { // the error does not repeat the value, which may be a key by mistake
			return errors.New("key must be the id of a key, none or unknown; GET /_fake/keys lists the ids")
		}
		of = func(e Entry) []string { return []string{Sender(e.Request)} }
	case "fault":
		words = []string{"true", "false"}
		of = func(e Entry) []string { return []string{strconv.FormatBool(e.FaultEffect != "")} }
	case "violation":
		words = []string{"true", "false"}
		for _, rule := range fake.Rule("").Values() {
			words = append(words, string(rule))
		}
		of = brokenRules
	}
	f.others = append(f.others, func(e Entry) bool { return slices.Contains(of(e), value) })
	if !slices.Contains(words, value) {
		return fmt.Errorf("%s is %q; it must be one of %s", name, spec.Clip(value), strings.Join(words, ", "))
	}
	return nil
}

// brokenRules returns the rules that a request broke, and whether there are any.
func brokenRules(e Entry) []string {
	words := []string{strconv.FormatBool(len(e.Violations) > 0)}
	for _, v := range e.Violations {
		words = append(words, string(v.Rule))
	}
	return words
}

// textFilter returns whether a text is anywhere in a request or its response, in upper or lower
// case.
func textFilter(text string) condition {
	find := []byte(strings.ToLower(text))
	return func(e Entry) bool {
		all := fmt.Appendf(nil, "%s %s %s %s %s %v\n", e.Operation, e.Method, e.Path, e.Hint, e.FaultEffect, e.Violations)
		for _, h := range []http.Header{e.Header, e.ResponseHeader} {
			for name, values := range h {
				all = fmt.Appendf(all, "%s: %s\n", name, strings.Join(values, ", "))
			}
		}
		return slices.ContainsFunc([][]byte{all, e.Body, e.ResponseBody}, func(part []byte) bool {
			return bytes.Contains(bytes.ToLower(part), find)
		})
	}
}

var (
	statusWord = regexp.MustCompile(`^([0-9]{1,3}|[1-9]xx)(-([0-9]{1,3}|[1-9]xx))?$`)
	keyWord    = regexp.MustCompile(`^([1-9][0-9]*|none|unknown)$`)
)

// statusFilter reads a status such as 429, a class such as 4xx or 4xx-429, or 0 for no response.
func statusFilter(text string) (func(int) bool, error) {
	if !statusWord.MatchString(text) {
		return nil, fmt.Errorf("status is %q; it must be a number such as 429, a class such as 4xx, or 0 for no response",
			spec.Clip(text))
	}
	with, without, _ := strings.Cut(text, "-")
	return func(status int) bool {
		words := []string{strconv.Itoa(status), strconv.Itoa(status/100) + "xx"}
		return slices.Contains(words, with) && !slices.Contains(words, without)
	}, nil
}

// Sender returns the id of the key that a request came with, "none" if it had no credentials, or
// "unknown" if these are not a valid key.
func Sender(r fake.Request) string {
	switch {
	case r.Key > 0:
		return strconv.Itoa(r.Key)
	case r.Header.Get("Authorization") == "":
		return "none"
	}
	return "unknown"
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

package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

// Filter chooses requests. The zero Filter lets every request pass.
type Filter struct{ status, others []condition }

// condition reports whether a request passes.
type condition = func(*Entry) bool

// Fits reports whether a request passes, and whether it would with any status.
func (f Filter) Fits(e *Entry) (fits, withAnyStatus bool) {
	fails := func(passes condition) bool { return !passes(e) }
	if slices.ContainsFunc(f.others, fails) {
		return false, false
	}
	return !slices.ContainsFunc(f.status, fails), true
}

var names = []string{"operation", "method", "status", "key", "fault", "violation", "before", "since", "text"}

// NewFilter reads words, of which some may be filters such as status:429. A request must pass all
// of them; it passes -word if it does not pass word. A filter that makes no sense is left out, and
// reported as a problem.
func (j *Journal) NewFilter(text string) (f Filter, problems []string) {
	for word := range strings.FieldsSeq(text) {
		plain, not := strings.CutPrefix(word, "-")
		name, value, isFilter := strings.Cut(plain, ":")
		if name = strings.ToLower(name); !isFilter || !slices.Contains(names, name) {
			name, value = "text", plain
		}
		if value == "" {
			continue // the reader is still typing it
		}
		passes, err := j.condition(name, value)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if yes := passes; not {
			passes = func(e *Entry) bool { return !yes(e) }
		}
		if name == "status" {
			f.status = append(f.status, passes)
		} else {
			f.others = append(f.others, passes)
		}
	}
	return f, problems
}

func (j *Journal) condition(name, value string) (condition, error) {
	is := func(word string) bool { return strings.EqualFold(word, value) }
	switch name {
	case "text":
		return textCondition(value), nil
	case "before", "since":
		limit, err := spec.ReadNumber(name, value, 0, math.MaxInt32)
		return func(e *Entry) bool { return e.Seq != limit && (e.Seq < limit) == (name == "before") }, err
	case "method":
		return func(e *Entry) bool { return is(e.Method) }, nil
	case "status":
		return statusCondition(value)
	case "key":
		return j.keyCondition(is)
	case "operation":
		words := []string{"none"}
		for _, o := range fake.Operations() {
			words = append(words, o.Name)
		}
		return func(e *Entry) bool { return is(cmp.Or(e.Operation, "none")) }, oneOf(name, value, is, words)
	case "fault":
		return func(e *Entry) bool { return is(strconv.FormatBool(e.FaultEffect != "")) }, oneOf(name, value, is, []string{"true", "false"})
	}
	words := []string{"true", "false"}
	for _, rule := range fake.Rule("").Values() {
		words = append(words, string(rule))
	}
	isRule := func(v fake.Violation) bool { return is(string(v.Rule)) }
	return func(e *Entry) bool {
		return is(strconv.FormatBool(len(e.Violations) > 0)) || slices.ContainsFunc(e.Violations, isRule)
	}, oneOf(name, value, is, words)
}

// oneOf returns an error for a filter whose value is none of some words.
func oneOf(name, value string, is func(string) bool, words []string) error {
	if slices.ContainsFunc(words, is) {
		return nil
	}
	return fmt.Errorf("%s is %q; it must be one of %s", name, spec.Clip(value), strings.Join(words, ", "))
}

var statusWord = regexp.MustCompile(`^([0-9]{1,3}|[1-9]xx|none|pending)$`)

// statusCondition reads a status such as 429, a class such as 4xx, none for no response, or
// pending.
func statusCondition(value string) (condition, error) {
	value = strings.ToLower(value)
	if !statusWord.MatchString(value) {
		return nil, fmt.Errorf("status is %q; it must be a number such as 429, a class such as 4xx, none or pending", spec.Clip(value))
	}
	status, err := strconv.Atoi(value)
	return func(e *Entry) bool {
		switch {
		case e.Pending() || value == "pending":
			return e.Pending() && value == "pending"
		case value == "none":
			return e.StatusCode == 0
		case err != nil:
			return e.StatusCode/100 == int(value[0]-'0')
		}
		return e.StatusCode == status
	}, nil
}

// keyCondition reads the value of a filter for a key. The key with the name "tea… #2", for
// instance, is found by tea…, tea, #2 and 2.
func (j *Journal) keyCondition(is func(string) bool) (condition, error) {
	var numbers []int
	for i, key := range j.srv.Keys() {
		id := strconv.Itoa(i + 1)
		first, _, _ := strings.Cut(KeyName(i+1, key), " ")
		if is(id) || is("#"+id) || is(first) || is(strings.TrimSuffix(first, "…")) {
			numbers = append(numbers, i+1)
		}
	}
	none, unknown := is("none"), is("unknown")
	if numbers == nil && !none && !unknown { // it may be a key by mistake: the error does not repeat it
		return nil, errors.New("key must be the id or the name of a key, none or unknown; GET /_fake/keys lists the keys")
	}
	return func(e *Entry) bool {
		return slices.Contains(numbers, e.Key) || none && e.Sender == noKey || unknown && e.Sender == unknownKey
	}, nil
}

// textCondition returns whether a text is anywhere in a request or its response, in upper or lower
// case. It copies nothing unless the text has other letters than those of ASCII.
func textCondition(text string) condition {
	find := []byte(strings.ToLower(text))
	first := string(find[:1]) + strings.ToUpper(string(find[:1]))
	ascii := !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
	in := func(body []byte) bool {
		if !ascii {
			return bytes.Contains(bytes.ToLower(body), find)
		}
		for at := 0; at >= 0 && len(body)-at >= len(find); at = bytes.IndexAny(body, first) {
			if body = body[at:]; bytes.EqualFold(body[:len(find)], find) {
				return true
			}
			body = body[1:]
		}
		return false
	}
	return func(e *Entry) bool { return bytes.Contains(e.text, find) || in(e.Body) || in(e.ResponseBody) }
}

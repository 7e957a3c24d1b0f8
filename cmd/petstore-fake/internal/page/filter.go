package page

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Filter holds words that must all fit a request. A word with - before it must not fit. The empty
// Filter lets every request pass.
type Filter []string

// Fits reports whether a request passes.
func (f Filter) Fits(r *Request) bool {
	return !slices.ContainsFunc(f, func(word string) bool {
		plain, not := strings.CutPrefix(word, "-")
		return not == r.has(plain)
	})
}

var statusPattern = regexp.MustCompile(`^-?status:(\d[\dx]{2}|none|pending)$`)

// NewFilter reads words, of which some may be status:429, operation:createPet or key:none. A status
// that makes no sense is left out and reported as a problem.
func NewFilter(text string) (f Filter, problem string) {
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		switch plain := strings.TrimPrefix(word, "-"); {
		case plain == "" || strings.HasSuffix(plain, ":"): // the reader is still typing it
		case strings.HasPrefix(plain, "status:") && !statusPattern.MatchString(word):
			problem = word + " must be a number such as 429, a class such as 4xx, none or pending"
		default:
			f = append(f, word)
		}
	}
	return f, problem
}

// has reports whether a request has a word, or the value of a word such as status:429.
func (r *Request) has(word string) bool {
	name, value, isNamed := strings.Cut(word, ":")
	switch {
	case !isNamed: // such as the word key
	case name == "status":
		fits, _ := path.Match(strings.ReplaceAll(value, "x", "?"), r.Status())
		return fits
	case name == "operation":
		return strings.EqualFold(cmp.Or(r.Operation, "none"), value)
	case name == "key":
		return strings.EqualFold(r.Sender, value)
	}
	return strings.Contains(r.searchText(), word)
}

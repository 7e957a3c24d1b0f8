package page

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Filter chooses requests: all its conditions must hold. The zero Filter lets every request pass.
type Filter []func(*Request) bool

// Fits reports whether a request passes.
func (f Filter) Fits(r *Request) bool {
	return !slices.ContainsFunc(f, func(holds func(*Request) bool) bool { return !holds(r) })
}

var statusPattern = regexp.MustCompile(`^(\d[\dx]{2}|none|pending)$`)

// NewFilter reads words, of which some may be status:429, operation:createPet or key:none. All must
// fit, and -word must not. A status that makes no sense is left out and reported as a problem.
func NewFilter(text string) (f Filter, problem string) {
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		plain, not := strings.CutPrefix(word, "-")
		name, value, _ := strings.Cut(plain, ":")
		switch {
		case plain == "" || value == "" && strings.HasSuffix(plain, ":"): // the reader is still typing it
		case name == "status" && !statusPattern.MatchString(value):
			problem = word + " must be a number such as 429, a class such as 4xx, none or pending"
		default:
			f = append(f, func(r *Request) bool { return not != r.has(name, value, plain) })
		}
	}
	return f, problem
}

// has reports whether a request has a value for a name, or else whether it has a word.
func (r *Request) has(name, value, word string) bool {
	switch name {
	case "status":
		fits, _ := path.Match(strings.ReplaceAll(value, "x", "?"), r.Status())
		return fits
	case "operation":
		return strings.EqualFold(cmp.Or(r.Operation, "none"), value)
	case "key":
		return strings.EqualFold(r.Sender, value)
	}
	return strings.Contains(r.searchText(), word)
}

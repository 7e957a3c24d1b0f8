package page

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Filter chooses requests. The zero Filter lets every request pass.
type Filter struct{ status, others []func(*Request) bool }

// Fits reports whether a request passes, and whether it would with any status.
func (f Filter) Fits(r *Request) (fits, withAnyStatus bool) {
	fails := func(passes func(*Request) bool) bool { return !passes(r) }
	withAnyStatus = !slices.ContainsFunc(f.others, fails)
	return withAnyStatus && !slices.ContainsFunc(f.status, fails), withAnyStatus
}

var statusPattern = regexp.MustCompile(`^(\d[\dx]{2}|none|pending)$`)

// Of returns the requests of a list that pass.
func (f Filter) Of(list []*Request) []*Request {
	return slices.DeleteFunc(list, func(r *Request) bool { fits, _ := f.Fits(r); return !fits })
}

// NewFilter reads words, of which some may be status:429, operation:createPet or key:none. All must
// fit, and -word must not. A status that makes no sense is left out and reported as a problem.
func NewFilter(text string) (f Filter, problem string) {
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		plain, not := strings.CutPrefix(word, "-")
		name, value, _ := strings.Cut(plain, ":")
		passes := func(r *Request) bool { return not != r.has(name, value, plain) }
		switch {
		case plain == "" || value == "" && strings.HasSuffix(plain, ":"): // the reader is still typing it
		case name == "status" && !statusPattern.MatchString(value):
			problem = word + " must be a number such as 429, a class such as 4xx, none or pending"
		case name == "status":
			f.status = append(f.status, passes)
		default:
			f.others = append(f.others, passes)
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
	return contains(r.searchText(), word) || contains(r.Body, word) || contains(r.ResponseBody, word)
}

package page

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Filter holds words that must all fit a request: words of it, status:4xx, operation:createPet or
// key:none. A word with - before it must not fit. The empty Filter lets every request pass.
type Filter []string

// NewFilter reads words.
func NewFilter(text string) Filter { return strings.Fields(strings.ToLower(text)) }

// Fits reports whether a request passes.
func (f Filter) Fits(r *Request) bool {
	return !slices.ContainsFunc(f, func(word string) bool {
		plain, not := strings.CutPrefix(word, "-")
		return not == r.has(plain)
	})
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

package page

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Filter is a list of words in lower case. A request passes the filter if it has each of the words,
// and has none of the words that follow a minus sign. The empty Filter lets every request pass.
type Filter []string

// NewFilter returns the Filter of the words in a text.
func NewFilter(text string) Filter { return strings.Fields(strings.ToLower(text)) }

// Fits reports whether a request passes the filter.
func (f Filter) Fits(r *Request) bool {
	return !slices.ContainsFunc(f, func(word string) bool {
		plain, not := strings.CutPrefix(word, "-")
		return not == r.has(plain)
	})
}

// has reports whether a request has a word. A word such as status:4xx, operation:createPet or
// key:none looks only at the status, the operation or the key.
func (r *Request) has(word string) bool {
	name, value, isNamed := strings.Cut(word, ":")
	switch {
	case !isNamed: // a plain word, even if the word is status, operation or key
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

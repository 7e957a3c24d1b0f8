package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// readProbes are about listPets and getPet.
func readProbes() []probe {
	return []probe{
		{"order", "4.1", "In which order does listPets return pets?", probeOrder},
		{"limit-zero", "4.1", "What becomes of limit=0?", limitProbe("limit=0")},
		{"limit-above", "4.1", "What becomes of limit=101?", limitProbe("limit=101")},
		{"limit-word", "4.1", "What becomes of limit=abc?", limitProbe("limit=abc")},
		{
			"limit-twice", "4.1", "What becomes of limit=1&limit=2?",
			lengthProbe("limit=1&limit=2", map[int]string{1: "the first counts", 2: "the last counts"}),
		},
		{
			"unknown-status", "4.1", "What becomes of status=lost?",
			lengthProbe("status=lost", map[int]string{0: "empty"}),
		},
		{
			"unknown-parameter", "4.1", "What becomes of a parameter that the document does not name?",
			outcome(get("/pets?limit=1&colour=grey")),
		},
		{
			"petid-word", "4.3", "What is the response to a petId that is no number?",
			outcome(get("/pets/abc")),
		},
		{
			"petid-large", "4.3", "What is the response to a petId beyond int64?",
			outcome(get("/pets/9223372036854775808")),
		},
		{"deprecation-headers", "4.3", "Which headers say that getPet is deprecated?", probeDeprecation},
		{"removal", "9", "Does getPet answer after 5 December 2030?", probeRemoval},
	}
}

// fresh asks for a list once more, since pets were added in between. It has no pets if the service
// refused.
func (s *session) fresh(query, round string) ([]object, *exchange) {
	s.populate()
	x := s.askAgain(query, round)
	if !x.success() {
		return nil, x
	}
	return orSkip(x.pets), x
}

// probeOrder looks at the same list twice, since an order that changes may look sorted by chance.
func probeOrder(s *session) string {
	first, _ := s.fresh("limit=100", "order")
	second, _ := s.fresh("limit=100", "order again")
	a, b := ids(first), ids(second)
	if len(a) < 3 || len(b) < 3 {
		skipf("there are too few pets")
	}
	switch {
	case slices.IsSorted(a) && slices.IsSorted(b):
		return "ascending"
	case isDescending(a) && isDescending(b):
		return "descending"
	case slices.Equal(a, b):
		return "other"
	}
	return "changing"
}

func isDescending(list []int64) bool {
	return slices.IsSortedFunc(list, func(a, b int64) int { return cmp.Compare(b, a) })
}

func ids(pets []object) (list []int64) {
	for _, pet := range pets {
		if id, err := read[int64](pet["id"]); err == nil {
			list = append(list, id)
		}
	}
	return list
}

// limitProbe compares what an invalid limit returns to what no limit does, and to the bounds.
func limitProbe(query string) func(*session) string {
	return func(s *session) string {
		plain, _ := s.fresh("", "limits")
		most, _ := s.fresh("limit=100", "limits")
		list, x := s.fresh(query, "limits")
		if !x.success() {
			return x.outcome()
		}
		if len(plain) < 2 || query == "limit=101" && len(plain) == len(most) {
			skipf("there are too few pets to tell the default from the bounds")
		}
		switch n := len(list); n {
		case len(plain):
			return "ignored"
		case 1, len(most):
			return "clamped"
		case 0:
			return "empty"
		default:
			return fmt.Sprintf("%d animals", n)
		}
	}
}

// lengthProbe says by the length of a list what became of a parameter.
func lengthProbe(query string, words map[int]string) func(*session) string {
	return func(s *session) string {
		list, x := s.fresh(query, "limits")
		if !x.success() {
			return x.outcome()
		}
		return cmp.Or(words[len(list)], "ignored")
	}
}

func probeDeprecation(s *session) string {
	_, x := s.fetchAnyway()
	var list []string
	for _, name := range []string{"Deprecation", "Link", "Sunset"} {
		if x.header.Get(name) != "" {
			list = append(list, name)
		}
	}
	return cmp.Or(strings.Join(list, ", "), "none")
}

func probeRemoval(s *session) string {
	_, x := s.fetchAnyway()
	if !removed(x) {
		skipf("it is not yet that day")
	}
	return x.outcome()
}

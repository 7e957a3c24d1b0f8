package conformance

import (
	"fmt"
	"slices"
)

func listProbes() []probe {
	return []probe{
		{"order", "4.1", "In which order does listPets return animals?", probeOrder},
		{"limit-zero", "4.1", "What becomes of limit=0?", limitProbe("limit=0")},
		{"limit-above", "4.1", "What becomes of limit=101?", limitProbe("limit=101")},
		{"limit-word", "4.1", "What becomes of limit=abc?", limitProbe("limit=abc")},
		{"limit-twice", "4.1", "What becomes of limit=1&limit=2?", probeLimitTwice},
		{"unknown-status", "4.1", "What becomes of status=lost?", probeUnknownStatus},
		{
			"unknown-parameter", "4.1", "What becomes of a parameter that the document does not name?",
			func(s *session) (string, error) { return s.outcome(get("/pets?limit=1&colour=grey")) },
		},
	}
}

// fresh asks for a list anew, since pets were added in between.
func (s *session) fresh(query, round string) ([]animal, *exchange, error) {
	s.populate()
	r := listing(query)
	r.round = round
	x, err := s.ask(r)
	if err != nil {
		return nil, nil, err
	}
	if !x.success() {
		return nil, x, nil
	}
	list, err := x.animals()
	if err != nil {
		return nil, nil, skipf("%v", err)
	}
	return list, x, nil
}

// probeOrder looks at the same list twice, since an order that changes may look sorted by chance.
func probeOrder(s *session) (string, error) {
	first, _, err := s.fresh("limit=100", "order")
	if err != nil {
		return "", err
	}
	second, _, err := s.fresh("limit=100", "order again")
	if err != nil {
		return "", err
	}
	a, b := ids(first), ids(second)
	switch {
	case len(a) < 3 || len(b) < 3:
		return "", skip("there are too few animals")
	case slices.IsSorted(a) && slices.IsSorted(b):
		return "ascending", nil
	case isDescending(a) && isDescending(b):
		return "descending", nil
	case slices.Equal(a, b):
		return "other", nil
	}
	return "changing", nil
}

func isDescending(list []int64) bool {
	list = slices.Clone(list)
	slices.Reverse(list)
	return slices.IsSorted(list)
}

func ids(animals []animal) []int64 {
	var list []int64
	for _, a := range animals {
		if id, err := integer(a.fields["id"]); err == nil {
			list = append(list, id)
		}
	}
	return list
}

// limitProbe compares what an invalid limit returns to what no limit does, and to the bounds.
func limitProbe(query string) func(*session) (string, error) {
	return func(s *session) (string, error) {
		plain, _, err := s.fresh("", "limits")
		if err != nil {
			return "", err
		}
		most, _, err := s.fresh("limit=100", "limits")
		if err != nil {
			return "", err
		}
		list, x, err := s.fresh(query, "limits")
		if err != nil {
			return "", err
		}
		switch {
		case !x.success():
			return x.outcome(), nil
		case len(plain) < 2 || query == "limit=101" && len(plain) == len(most):
			return "", skip("there are too few animals to tell the default from the bounds")
		}
		return treatment(len(list), len(plain), len(most)), nil
	}
}

// treatment is the word for the length of a list with an invalid limit.
func treatment(n, plain, most int) string {
	switch n {
	case plain:
		return "ignored"
	case 1, most:
		return "clamped"
	case 0:
		return "empty"
	}
	return fmt.Sprintf("%d animals", n)
}

func probeLimitTwice(s *session) (string, error) {
	list, x, err := s.fresh("limit=1&limit=2", "limits")
	if err != nil {
		return "", err
	}
	switch {
	case !x.success():
		return x.outcome(), nil
	case len(list) == 1:
		return "the first counts", nil
	case len(list) == 2:
		return "the last counts", nil
	}
	return "ignored", nil
}

func probeUnknownStatus(s *session) (string, error) {
	list, x, err := s.fresh("status=lost", "limits")
	if err != nil {
		return "", err
	}
	switch {
	case !x.success():
		return x.outcome(), nil
	case len(list) == 0:
		return "empty", nil
	}
	return "ignored", nil
}

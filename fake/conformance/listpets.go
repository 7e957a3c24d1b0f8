package conformance

import (
	"bytes"
	"fmt"
	"net/http"
)

// The bounds of limit (sections 4.1 and 8.4).
const (
	defaultLimit = 20
	maxLimit     = 100
)

// listClauses are those of section 4.1.
func listClauses() []clause {
	list := []clause{
		{"4.1", "success is 200", listSuccess},
		{"4.1", "the body is an array of Pet objects", listBody},
		{"4.1", "limit defaults to 20", limitDefault},
		{"4.1", "limit may be 1", limitAccepted("limit=1")},
		{"4.1", "limit may be 100", limitAccepted("limit=100")},
		{"4.1", "limit is the most that is returned", limitObeyed},
		{"4.1", "limit and status go together", limitAndStatus},
		{"4.1", "an animal that was added is listed", addedIsListed},
	}
	for _, status := range statuses {
		list = append(list,
			clause{"4.1", "status=" + status + " returns " + status + " animals only", statusFilters(status)},
			clause{"4.1", "status=" + status + " returns the one that was added", statusFinds(status)},
		)
	}
	return list
}

// emptyList asks for each status until one has no pets; it must come before any is added.
func emptyList(s *session) error {
	for _, status := range statuses {
		r := listing("limit=1&status=" + status)
		r.round = "before"
		x, err := s.ask(r)
		if err != nil {
			return err
		}
		if !x.success() {
			continue
		}
		if items, err := array(x.response); err == nil && len(items) == 0 {
			return nil
		}
		if body := bytes.TrimSpace(x.response); len(body) == 0 || string(body) == "null" {
			return x.errorf("an empty list must be [] and is %s", show(x.response))
		}
	}
	return skip("there are animals of every status, so that no list is empty")
}

func listSuccess(s *session) error {
	x, err := s.list("")
	if err != nil {
		return err
	}
	return x.want(http.StatusOK)
}

func listBody(s *session) error {
	x, err := s.list("")
	if err != nil {
		return err
	}
	_, err = x.animals()
	return err
}

// limitDefault compares the list without a limit to those with one, which needs more pets than
// the default shows. A page may be shorter than its limit; then so is that without one.
func limitDefault(s *session) error {
	most, _, err := s.page("limit=100")
	if err != nil {
		return err
	}
	twenty, _, err := s.page("limit=20")
	if err != nil {
		return err
	}
	plain, x, err := s.page("")
	switch {
	case err != nil:
		return err
	case len(plain) > defaultLimit:
		return x.errorf("the list without a limit has %d animals, more than %d", len(plain), defaultLimit)
	case len(most) <= defaultLimit:
		return skipf("the catalogue shows %d animals, and more than %d are needed", len(most), defaultLimit)
	case len(plain) != len(twenty):
		return x.errorf("the list has %d animals without a limit, and %d with limit=20",
			len(plain), len(twenty))
	}
	return nil
}

func limitAccepted(query string) func(*session) error {
	return func(s *session) error {
		x, err := s.list(query)
		if err == nil && !x.success() {
			err = x.errorf("a limit from 1 to 100 must be accepted")
		}
		return err
	}
}

func limitObeyed(s *session) error {
	for _, limit := range []int{1, maxLimit} {
		list, x, err := s.page(fmt.Sprintf("limit=%d", limit))
		if err != nil {
			return err
		}
		if len(list) > limit {
			return x.errorf("limit is %d, and there are %d animals", limit, len(list))
		}
	}
	return nil
}

func limitAndStatus(s *session) error {
	list, x, err := s.page("limit=1&status=sold")
	if err != nil {
		return err
	}
	if len(list) > 1 {
		return x.errorf("limit is 1, and there are %d animals", len(list))
	}
	return allHave(list, "sold")
}

// allHave is the verdict on a list that was filtered by status.
func allHave(list []animal, status string) error {
	for _, a := range list {
		if got, err := text(a.fields["status"]); err != nil || got != status {
			return a.from.errorf("the status is %s and not %q", show(a.fields["status"]), status)
		}
	}
	return nil
}

func statusFilters(status string) func(*session) error {
	return func(s *session) error {
		x, err := s.list("limit=100&status=" + status)
		if err != nil {
			return err
		}
		if !x.success() {
			return x.errorf("a status of the enumeration must be accepted")
		}
		list, err := x.animals()
		if err != nil {
			return skipf("%v", err)
		}
		return allHave(list, status)
	}
}

func statusFinds(status string) func(*session) error {
	return func(s *session) error {
		a, err := s.mine(status)
		if err != nil {
			return err
		}
		if got, err := text(a.fields["status"]); err != nil || got != status {
			return skip("the animal was not added with that status")
		}
		return s.has("limit=100&status="+status, a)
	}
}

func addedIsListed(s *session) error {
	a, err := s.mine("")
	if err != nil {
		return err
	}
	return s.has("limit=100", a)
}

// has is the verdict on whether a list shows a pet. A list may be shorter than its limit: only one
// shorter than any page of a service in its senses shows all there is.
func (s *session) has(query string, want animal) error {
	list, x, err := s.page(query)
	if err != nil {
		return err
	}
	const shortest = 10
	if len(list) >= shortest {
		return skipf("the list has %d animals, and there may be more", len(list))
	}
	for _, a := range list {
		if a.id() == want.id() {
			return nil
		}
	}
	return x.errorf("the animal %s is not in the list", want.id())
}

package fake

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/service"
)

// The bounds of limit (sections 4.1 and 8.4).
const (
	minLimit     = 1
	maxLimit     = 100
	defaultLimit = 20
)

// listPets serves GET /pets (section 4.1).
func (x *exchange) listPets() response {
	q := query{limit: defaultLimit, order: x.srv.config.behavior.Order}
	if err := x.readQuery(&q); err != nil {
		return refusal(http.StatusBadRequest, "listPets: %v (section 4.1)", err)
	}
	pets := x.srv.catalogue.list(q)
	body := append(make([]byte, 0, petSize*len(pets)+2), '[')
	for i, p := range pets {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendPet(body, p)
	}
	return newResponse(http.StatusOK, append(body, ']'))
}

func (x *exchange) readQuery(q *query) error {
	values, err := url.ParseQuery(x.req.URL.RawQuery)
	if err != nil {
		return errors.New("the query is malformed")
	}
	x.noteParameters(values, "limit", "status")
	for _, name := range []string{"limit", "status"} {
		if len(values[name]) > 1 {
			return fmt.Errorf("%s is given twice", name)
		}
	}
	b := x.srv.config.behavior
	if values.Has("limit") {
		err = b.readLimit(q, values.Get("limit"))
	}
	if err == nil && values.Has("status") {
		status := values.Get("status")
		switch err = service.CheckStatus(status); {
		case err == nil:
			q.status = petstore.PetStatus(status)
		case b.InvalidStatus != "": // there is nothing to clamp a status to
			err = nil
		}
	}
	return err
}

func (b Behavior) readLimit(q *query, value string) error {
	n, err := parseInteger(value)
	if err == nil && n >= minLimit && n <= maxLimit {
		q.limit = int(n)
		return nil
	}
	switch b.InvalidLimit {
	case InvalidIgnore:
		return nil
	case InvalidClamp:
		if err == nil || errors.Is(err, strconv.ErrRange) {
			q.limit = int(min(max(n, minLimit), maxLimit))
		}
		return nil
	}
	return fmt.Errorf("limit is %s; it must be an integer from %d to %d", quote(value), minLimit, maxLimit)
}

// parseInteger reads an int64 as JSON spells it: without a plus sign or leading zeros. For a number
// out of range it returns the nearest int64, and an error that matches strconv.ErrRange.
func parseInteger(s string) (int64, error) {
	digits := strings.TrimPrefix(s, "-")
	if len(digits) > 1 && digits[0] == '0' || strings.HasPrefix(digits, "+") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(s, 10, 64)
}

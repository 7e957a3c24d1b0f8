package conformance

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

// differentServices make other choices than the fake and its variants where the document is silent.
// No clause may fail.
var differentServices = map[string]breakage{
	"more fields in pets":   onAll(replace(`"id":(\d+)`, `"id":$1,"breed":null,"photos":[{"id":"7"}]`)),
	"more fields in errors": onAll(replace(`"code":"(\w+)"`, `"code":"$1","details":[]`)),
	"other codes":           onAll(replace(`"code":"\w+"`, `"code":"E-17"`)),
	"indented bodies":       onAll(replace(`([,{\[])"`, "$1\n  \"")),
	"escapes in names":      onAll(replace(`petstore-go conformance`, `petstore\u002dgo conformance`)),
	"a charset":             onAll(set("Content-Type", "Application/JSON; charset=UTF-8")),
	"no challenge":          onAll(drop("Www-Authenticate")),
	"no Date":               onAll(drop("Date")),
	"no quota shown":        onAll(set(headerRemaining, "2147483647")),
	"a quota in strides": onAll(compute(headerRemaining, func(old int64) string {
		return strconv.FormatInt(old/10*10, 10)
	})),
	"a limit of a day":          onAll(compute(headerReset, func(old int64) string { return fmt.Sprint(old + 86_400) })),
	"pages of ten at most":      query(`limit=\d{2,}`, `limit=10`, `^$`, `limit=10`),
	"categories that are known": refuse(`9223372036854775807`),
	"a redirect for others": {response: func(r *http.Request, a *response) {
		if regexp.MustCompile(`colour|lost|abc`).MatchString(r.URL.RequestURI()) {
			a.status, a.body = http.StatusFound, ""
			a.header.Set("Location", "/v1/pets")
		}
	}},
	"more about a 429": onStatus(http.StatusTooManyRequests, func(a *response) {
		a.body = "slow down"
		a.header.Set("Content-Type", "text/plain")
		a.header.Set("Retry-After", "1.5, 90")
	}),
}

func TestClausesOnDifferentServices(t *testing.T) {
	for name, different := range differentServices {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, s := open(t, different, catalogue(), fake.WithPlan(plan))
				failed, _ := s.checkAll()
				assert.Empty(t, failed)
			})
		})
	}
}

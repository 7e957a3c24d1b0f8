package conformance

import (
	"net/http"
	"regexp"
)

// differentServices make other choices than the fake and its variants where the document is silent.
// No clause may fail.
var differentServices = []testService{
	{"more fields in pets", onAll(replace(`"id":(\d+)`, `"id":$1,"breed":null,"photos":[{"id":"7"}]`)), nil},
	{"more fields in errors", onAll(replace(`"code":"(\w+)"`, `"code":"$1","details":[]`)), nil},
	{"other codes", onAll(replace(`"code":"\w+"`, `"code":"E-17"`)), nil},
	{"indented bodies", onAll(replace(`([,{\[])"`, "$1\n  \"")), nil},
	{"escapes in names", onAll(replace(`petstore-go conformance`, `petstore\u002dgo conformance`)), nil},
	{"a charset", onAll(set("Content-Type", "Application/JSON; charset=UTF-8")), nil},
	{"no challenge", onAll(drop("Www-Authenticate")), nil},
	{"no Date", onAll(drop("Date")), nil},
	{"no quota shown", onAll(set(headerRemaining, "2147483647")), nil},
	{"a quota in strides", onAll(compute(headerRemaining, func(old int64) int64 { return old / 10 * 10 })), nil},
	{"a limit of a day", onAll(compute(headerReset, func(old int64) int64 { return old + 86_400 })), nil},
	{"pages of ten at most", query(`limit=\d{2,}`, `limit=10`, `^$`, `limit=10`), nil},
	{"categories that are known", refuse(`9223372036854775807`), nil},
	{"names that are unique", uniqueNames(), nil},
	{"more about a 429", onStatus(http.StatusTooManyRequests, func(a *response) {
		a.body = "slow down"
		a.header.Set("Content-Type", "text/plain")
		a.header.Set("Retry-After", "1.5, 90")
	}), nil},
}

// uniqueNames refuses a name that was given before.
func uniqueNames() breakage {
	given := make(map[string]bool)
	return breakage{request: func(_ *http.Request, body *[]byte) {
		name := regexp.MustCompile(`"name":"[^"]*"`).FindString(string(*body))
		if given[name] {
			*body = []byte("{}")
		}
		given[name] = name != ""
	}}
}

package conformance

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
)

func errorProbes() []probe {
	list := []probe{
		{
			"scheme-case", "5", "Does the service take the scheme in lower case?",
			outcome(request{method: http.MethodGet, path: "/pets?limit=1", auth: lowerCase}),
		},
		{"challenge", "5", "What is the WWW-Authenticate of a 401?", anonymousHeader("Www-Authenticate")},
	}
	for _, status := range []int{400, 401, 404} {
		list = append(list, probe{
			fmt.Sprintf("code-%d", status), "7", fmt.Sprintf("What is the code of a %d?", status),
			func(s *session) string { return s.responses(hasStatus(status))[0].code() },
		})
	}
	return append(list, probe{
		"limit-on-401", "8.2", "Which X-RateLimit-Limit has the response to a request without a key?",
		anonymousHeader(headerLimit),
	})
}

// limitProbes are about quotas. The questions about a 429 need Target.Destructive.
func limitProbes() []probe {
	return []probe{
		{"counts-400", "8.1", "Does a request count if its response is a 400?", countsProbe(400)},
		{"counts-404", "8.1", "Does a request count if its response is a 404?", countsProbe(404)},
		{"window", "8.1", "When does the window of a minute begin?", probeWindow},
		{"retry-after", "8.4", "What is the form of Retry-After?", probeRetryAfter},
		{
			"body-429", "7", "What is the body of a 429?",
			func(s *session) string { return s.overrun().form() },
		},
		{
			"code-429", "7", "What is the code of a 429?",
			func(s *session) string { return s.overrun().code() },
		},
	}
}

// anonymousHeader is the probe for a header of the response to a request without a key.
func anonymousHeader(name string) func(*session) string {
	return func(s *session) string {
		x := s.operation(petstore.OpListPets, noKey)
		return cmp.Or(strings.Join(x.header.Values(name), ", "), "none")
	}
}

// code returns the code of an Error body.
func (x *exchange) code() string {
	o, _ := read[object](x.response)
	code, err := read[string](o["code"])
	if err != nil {
		skipf("%v", err)
	}
	return code
}

// countsProbe looks for a response of the status that follows another one in the same window, and
// compares what remains. It is right only if there is no other user of the key.
func countsProbe(status int) func(*session) string {
	return func(s *session) string {
		var last quota
		for _, x := range s.responses(hasQuota) {
			q := x.quota()
			switch {
			case x.path == "/no-such-path":
				continue
			case x.status != status || !q.sameWindow(last):
				last = q
			case q.remaining < last.remaining:
				return "counted"
			default:
				return "free"
			}
		}
		skipf("there are no two responses of one window to compare")
		return ""
	}
}

// tick sends a request whose headers show the window.
func (s *session) tick(round string) (*exchange, quota) {
	x := s.askAgain("limit=1", round)
	q := x.quota()
	if !q.known {
		skipf("the headers do not show a window")
	}
	return x, q
}

// probeWindow sends a request now, one in this window, and one after its end. A window of the wall
// clock ends on the minute; one that a request begins has its whole length before it; a sliding one
// still holds the second request, and so ends sooner.
func probeWindow(s *session) string {
	const between = 25 * time.Second
	first, q := s.tick("window begins")
	left := q.reset.Sub(first.date())
	if left <= 2*time.Second || left > patience {
		skipf("the window is not one of a minute")
	}
	s.waitUntil(first.at.Add(min(between, left/2)), "the window")
	s.tick("window goes on")
	s.waitUntil(first.local(q.reset.Add(time.Second)), "the window")
	last, next := s.tick("window is over")
	if next.limit != q.limit {
		skipf("the headers show another window")
	}
	return windowKind(q.reset.Unix(), next.reset.Unix(), next.reset.Sub(last.date()))
}

// windowKind is the word for a window by the ends of two that follow each other, and by what the
// second has left at its first request.
func windowKind(reset, next int64, left time.Duration) string {
	switch {
	case reset%60 == 0 && next%60 == 0:
		return "aligned"
	case left >= 58*time.Second:
		return "fixed"
	}
	return "sliding"
}

func probeRetryAfter(s *session) string {
	value := s.overrun().header.Get("Retry-After")
	_, notSeconds := strconv.Atoi(value)
	_, notDate := http.ParseTime(value)
	switch {
	case value == "":
		return "absent"
	case notSeconds == nil:
		return "seconds"
	case notDate == nil:
		return "date"
	}
	return fmt.Sprintf("%q", value)
}

package conformance

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func errorProbes() []probe {
	return []probe{
		{
			"scheme-case", "5", "Does the service take the scheme in lower case?",
			func(s *session) (string, error) {
				r := get("/pets?limit=1")
				r.auth = lowerCase
				return s.outcome(r)
			},
		},
		{"challenge", "5", "What is the WWW-Authenticate of a 401?", probeChallenge},
		{"code-400", "7", "What is the code of a 400?", codeProbe(http.StatusBadRequest)},
		{"code-401", "7", "What is the code of a 401?", codeProbe(http.StatusUnauthorized)},
		{"code-404", "7", "What is the code of a 404?", codeProbe(http.StatusNotFound)},
		{
			"limit-on-401", "8.2", "Which X-RateLimit-Limit has an answer to nobody's request?",
			probeAnonymousLimit,
		},
	}
}

// limitProbes are about quotas. The questions about a 429 need Target.Destructive.
func limitProbes() []probe {
	return []probe{
		{
			"counts-400", "8.1", "Does a request that is answered 400 count?",
			countsProbe(http.StatusBadRequest),
		},
		{
			"counts-404", "8.1", "Does a request that is answered 404 count?",
			countsProbe(http.StatusNotFound),
		},
		{"window", "8.1", "When does the window of a minute begin?", probeWindow},
		{"retry-after", "8.4", "What is the form of Retry-After?", probeRetryAfter},
		{"body-429", "7", "What is the body of a 429?", func(s *session) (string, error) {
			x, err := s.overrun()
			if err != nil {
				return "", err
			}
			return x.form(), nil
		}},
		{"code-429", "7", "What is the code of a 429?", func(s *session) (string, error) {
			x, err := s.overrun()
			if err != nil {
				return "", err
			}
			return x.code()
		}},
	}
}

func probeChallenge(s *session) (string, error) {
	x, err := s.withoutKey(get("/pets"), noKey)
	if err != nil {
		return "", err
	}
	if value := strings.Join(x.header.Values("Www-Authenticate"), ", "); value != "" {
		return value, nil
	}
	return "none", nil
}

func codeProbe(status int) func(*session) (string, error) {
	return func(s *session) (string, error) {
		list, err := s.refusals(status)
		if err != nil {
			return "", err
		}
		return list[0].code()
	}
}

// code returns the code of an Error body.
func (x *exchange) code() (string, error) {
	fields, err := object(x.response)
	if err != nil {
		return "", skipf("%v", err)
	}
	code, err := text(fields["code"])
	if err != nil {
		return "", skipf("%v", err)
	}
	return code, nil
}

func probeAnonymousLimit(s *session) (string, error) {
	x, err := s.withoutKey(get("/pets"), noKey)
	if err != nil {
		return "", err
	}
	if value := x.header.Get(headerLimit); value != "" {
		return value, nil
	}
	return "none", nil
}

// countsProbe looks for a response of the status that follows another one in the same window, and
// compares what remains. It is right only if there is no other user of the key.
func countsProbe(status int) func(*session) (string, error) {
	return func(s *session) (string, error) {
		if err := s.samples(); err != nil {
			return "", err
		}
		var last quota
		for _, x := range s.log {
			q := x.quota()
			if x.auth != validKey || !q.known || x.path == "/no-such-path" {
				continue
			}
			if x.status == status && last.known && q.reset == last.reset && q.limit == last.limit {
				if q.remaining < last.remaining {
					return "counted", nil
				}
				return "free", nil
			}
			last = q
		}
		return "", skip("there are no two responses of one window to compare")
	}
}

// tick sends a request whose headers show the window.
func (s *session) tick(round string) (*exchange, quota, error) {
	r := get("/pets?limit=1")
	r.round = round
	x, err := s.ask(r)
	if err != nil {
		return nil, quota{}, err
	}
	q := x.quota()
	if !q.known {
		return nil, q, skip("the headers do not show a window")
	}
	return x, q, nil
}

// probeWindow sends a request now, one in this window, and one after its end. A window of the wall
// clock ends on the minute; one that a request begins has its whole length before it; a sliding one
// still holds the second request, and so ends sooner.
func probeWindow(s *session) (string, error) {
	const between = 25 * time.Second
	first, q, err := s.tick("window begins")
	if err != nil {
		return "", err
	}
	left := time.Unix(q.reset, 0).Sub(first.date())
	if left <= 2*time.Second || left > patience {
		return "", skip("the window is not one of a minute")
	}
	if err := s.waitUntil(first.at.Add(min(between, left/2)), "the window"); err != nil {
		return "", err
	}
	if _, _, err := s.tick("window goes on"); err != nil {
		return "", err
	}
	if err := s.waitUntil(local(first, time.Unix(q.reset+1, 0)), "the window"); err != nil {
		return "", err
	}
	last, next, err := s.tick("window is over")
	switch {
	case err != nil:
		return "", err
	case next.limit != q.limit:
		return "", skip("the headers told of another window")
	}
	return windowKind(q.reset, next.reset, time.Unix(next.reset, 0).Sub(last.date())), nil
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

func probeRetryAfter(s *session) (string, error) {
	x, err := s.overrun()
	if err != nil {
		return "", err
	}
	value := x.header.Get("Retry-After")
	if value == "" {
		return "absent", nil
	}
	if _, err := strconv.Atoi(value); err == nil {
		return "seconds", nil
	}
	if _, err := http.ParseTime(value); err == nil {
		return "date", nil
	}
	return fmt.Sprintf("%q", value), nil
}

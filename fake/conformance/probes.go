package conformance

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// probes returns all questions in the order in which they are asked: what looks at responses to
// others comes late, what spends the quota last.
func probes() []probe {
	return slices.Concat(
		pathProbes(),
		bodyProbes(),
		listProbes(),
		getProbes(),
		errorProbes(),
		limitProbes(),
	)
}

func pathProbes() []probe {
	return []probe{
		{
			"other-path", "1", "What is the answer to a path that the document does not name?",
			func(s *session) (string, error) { return s.outcome(get("/no-such-path")) },
		},
		{
			"other-method", "1", "What is the answer to PATCH /pets?",
			func(s *session) (string, error) { return s.outcome(patch()) },
		},
		{"other-method-allow", "1", "Which methods does the answer to PATCH /pets allow?", probeAllow},
		{"empty-list", "4.1", "How is an empty list written?", probeEmpty},
	}
}

// outcome is the response to a request in short.
func (s *session) outcome(r request) (string, error) {
	x, err := s.ask(r)
	if err != nil {
		return "", err
	}
	return x.outcome(), nil
}

// outcome is "accepted", or the status and the form of the body.
func (x *exchange) outcome() string {
	if x.success() {
		return "accepted"
	}
	return fmt.Sprintf("%d %s", x.status, x.form())
}

// form is what a body looks like.
func (x *exchange) form() string {
	body := bytes.TrimSpace(x.response)
	if len(body) == 0 {
		return "empty"
	}
	if fields, err := object(body); err == nil {
		_, err1 := text(fields["code"])
		_, err2 := text(fields["message"])
		_, err3 := integer(fields["status"])
		if err1 == nil && err2 == nil && err3 == nil {
			return "Error"
		}
		return "JSON"
	}
	if strings.Contains(x.header.Get("Content-Type"), "html") || bytes.HasPrefix(body, []byte("<")) {
		return "HTML"
	}
	return "other"
}

// patch has no body, so that a service which knows the method has nothing to change.
func patch() request { return request{method: http.MethodPatch, path: "/pets"} }

func probeAllow(s *session) (string, error) {
	x, err := s.ask(patch())
	if err != nil {
		return "", err
	}
	return tokens(x.header.Values("Allow")), nil
}

// tokens is a list of header values in an order of its own.
func tokens(values []string) string {
	var list []string
	for token := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if token = strings.TrimSpace(token); token != "" {
			list = append(list, token)
		}
	}
	if len(list) == 0 {
		return "none"
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ", ")
}

// probeEmpty looks for a list without pets; the first status that has none will do.
func probeEmpty(s *session) (string, error) {
	for _, status := range statuses {
		r := listing("limit=1&status=" + status)
		r.round = "before"
		x, err := s.ask(r)
		if err != nil {
			return "", err
		}
		if !x.success() {
			continue
		}
		switch body := string(bytes.TrimSpace(x.response)); body {
		case "", "null", "[]":
			return tokens([]string{body}), nil
		}
	}
	return "", skip("no list is empty")
}

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
			"other-path", "1", "What is the response to a path that the document does not name?",
			outcome(get("/no-such-path")),
		},
		{"other-method", "1", "What is the response to PATCH /pets?", outcome(patch())},
		{
			"other-method-allow", "1", "Which methods does the response to PATCH /pets allow?",
			func(s *session) string { return tokens(s.ask(patch()).header.Values("Allow")) },
		},
		{
			"empty-list", "4.1", "How is an empty list written?",
			func(s *session) string {
				body, _ := s.emptyBody()
				return tokens([]string{body})
			},
		},
	}
}

// patch has no body, so that a service which knows the method has nothing to change.
func patch() request { return request{method: http.MethodPatch, path: "/pets"} }

// outcome is the probe for the response to a request in short.
func outcome(r request) func(*session) string {
	return func(s *session) string { return s.ask(r).outcome() }
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

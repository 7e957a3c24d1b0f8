package conformance

import (
	"cmp"
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
		readProbes(),
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
			probeAllow,
		},
		{
			"empty-list", "4.1", "How is an empty list written?",
			func(s *session) string { return cmp.Or(s.emptyList().compact(), "none") },
		},
	}
}

// patch has no body, so that a service which knows the method has nothing to change.
func patch() request { return request{method: http.MethodPatch, path: "/pets", auth: validKey} }

func probeAllow(s *session) string {
	allow := strings.Join(s.ask(patch()).header.Values("Allow"), ",")
	methods := strings.FieldsFunc(allow, func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(methods)
	return cmp.Or(strings.Join(slices.Compact(methods), ", "), "none")
}

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
	body := x.compact()
	o, err := read[object](x.response)
	switch {
	case body == "":
		return "empty"
	case err == nil && is[string](o["code"], x) == nil && is[string](o["message"], x) == nil &&
		is[int64](o["status"], x) == nil:
		return "Error"
	case err == nil:
		return "JSON"
	case strings.Contains(x.header.Get("Content-Type"), "html") || strings.HasPrefix(body, "<"):
		return "HTML"
	}
	return "other"
}

// compact returns the body without white space.
func (x *exchange) compact() string { return strings.Join(strings.Fields(string(x.response)), "") }

package fake

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// effect describes in words what the fault does to a request that it strikes, such as "delayed by
// 2s, status 503, Retry-After 5". It does not say which requests the fault strikes, nor how often.
func (f *Fault) effect() string {
	var words []string
	add := func(applies bool, format string, args ...any) {
		if applies {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(f.AfterCommit, "carried out")
	add(f.Delay > 0, "delayed by %v", f.Delay)
	add(f.Status != 0, "status %d", f.Status)
	add(f.Code != "", "code %s", f.Code)
	add(f.Message != "", "message %s", quote(f.Message))
	add(f.RetryAfter != "", "Retry-After %s", f.RetryAfter)
	for _, name := range slices.Sorted(maps.Keys(f.Header)) {
		values := f.Header[name]
		add(len(values) == 0, "no header %s", name)
		add(len(values) > 0, "header %s: %s", name, strings.Join(values, ", "))
	}
	add(f.Body != nil, "another body of %d bytes", len(f.Body))
	add(f.Wire != WireNone, "%s", f.Wire.effect())
	if len(words) == 0 {
		return "no change"
	}
	return strings.Join(words, ", ")
}

// effect describes what happens to the connection.
func (w Wire) effect() string {
	switch w {
	case WireReset:
		return "connection reset"
	case WireClose:
		return "connection closed without a response"
	case WireTruncate:
		return "body cut off after its first half"
	case WireGarbage:
		return "bytes that are not HTTP"
	case WireStall:
		return "no response until the client gives up"
	case WireDrip:
		return "a byte of the body every " + dripPause.String()
	case WireRefuse:
		return "connection refused"
	}
	return ""
}

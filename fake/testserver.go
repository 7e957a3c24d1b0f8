package fake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/safetext"
)

// TB is the part of testing.TB that [NewTestServer] needs. It keeps the testing package, and its
// flags, out of programs that use package fake without being tests. The methods are those of
// testing.TB.
type TB interface {
	Helper()
	Name() string
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

// NewTestServer returns a server for a test, a benchmark or a synctest bubble. It closes itself at
// the end of the test. The test fails if an injected fault never struck, if [Fault.Match] panicked
// and, with [WithStrict], if a client misbehaved. A test that failed gets the last 100 requests of
// the journal in its log. The log of any test names what Close had to cut off.
func NewTestServer(tb TB, opts ...Option) *Server {
	tb.Helper()
	s := NewServer(opts...)
	s.tb = tb
	tb.Cleanup(func() {
		tb.Helper()
		s.Close()
		s.report()
	})
	return s
}

// report fails the test if something happened that must not, and logs the rest.
func (s *Server) report() {
	s.tb.Helper()
	for _, f := range s.faults.unfired() {
		s.tb.Errorf("fake: an injected fault never struck: %s", f)
	}
	s.inflight.mu.Lock() // a handler that hung may still panic
	panics, leaks := slices.Clone(s.inflight.panics), slices.Clone(s.inflight.leaks)
	s.inflight.mu.Unlock()
	keys := s.keys.known()
	for _, p := range panics {
		s.tb.Errorf("fake: the handling of a request panicked: %s", safetext.Redact(p, keys...))
	}
	report := s.tb.Logf
	if s.config.strict {
		report = s.tb.Errorf
	}
	for _, l := range leaks {
		report("fake: at Close %s", safetext.Redact(l, keys...))
	}
	for _, v := range s.Violations() {
		if s.config.strict && !slices.Contains(s.config.allowed, v.Rule) {
			s.tb.Errorf("fake: %v", v)
		}
	}
	if s.tb.Failed() {
		s.tb.Logf("%s", transcript(s.tb.Name(), s.Requests()))
	}
}

// maxTranscript bounds the requests that a failed test prints.
const maxTranscript = 100

// transcript writes the end of the journal, a line for each request, with the time since the first.
func transcript(test string, requests []Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "fake: the server of %s served %s", test, plural(len(requests), "request"))
	all := requests
	if skip := len(requests) - maxTranscript; skip > 0 {
		fmt.Fprintf(&b, ", the last %d of them", maxTranscript)
		requests = requests[skip:]
	}
	for _, r := range requests {
		fmt.Fprintf(&b, "\n\t+%v %v", r.Time.Sub(all[0].Time).Round(time.Millisecond), r)
	}
	return b.String()
}

// String returns the request and its response as one line.
func (r Request) String() string {
	line := fmt.Sprintf("#%d %s %s", r.Seq, r.Method, r.Path)
	if len(r.Body) > 0 {
		line += " " + quote(string(r.Body))
	}
	status := "no response"
	if r.StatusCode != 0 {
		status = strconv.Itoa(r.StatusCode)
	}
	line += " → " + status
	if r.FaultEffect != "" {
		line += ", by a fault"
	}
	if r.Hint != "" {
		line += ": " + r.Hint
	}
	return line
}

package fake

import (
	"fmt"
	"slices"
	"time"
)

// TB is the part of testing.TB that [NewTestServer] needs. With it, a program that is no test can
// use package fake without linking package testing.
type TB interface {
	Helper()
	Name() string
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

// NewTestServer returns a server for a test. The server closes itself at the end of the test. The
// test fails if an injected fault never applied, if [Fault.Match] or a handler panicked and, with
// [WithStrict], if a client broke a rule. A failed test gets the last 100 requests in its log.
func NewTestServer(tb TB, opts ...Option) *Server {
	tb.Helper()
	s := NewServer(opts...)
	tb.Cleanup(func() {
		tb.Helper()
		s.Close()
		s.report(tb)
	})
	return s
}

// report makes the test fail in the cases that NewTestServer names.
func (s *Server) report(tb TB) {
	tb.Helper()
	for _, i := range s.Injections() {
		if i.Applied() == 0 && i.fault.Chance == 0 {
			tb.Errorf("fake: an injected fault never applied: %s; %d requests matched, Skip is %d",
				i.fault, i.matched.Load(), i.fault.Skip)
		}
	}
	s.journal.mu.Lock() // a handler that hangs may still add a panic
	panics := slices.Clone(s.journal.panics)
	s.journal.mu.Unlock()
	for _, p := range panics {
		tb.Errorf("fake: the handling of a request panicked: %s", p)
	}
	for _, v := range s.Violations() {
		if s.config.strict && !slices.Contains(s.config.allowed, v.Rule) {
			tb.Errorf("fake: %v", v)
		}
	}
	if tb.Failed() {
		tb.Logf("%s", transcript(tb.Name(), s.Requests()))
	}
}

// transcript writes the end of the journal: a line for each request, with the time since the first.
func transcript(test string, all []Request) string {
	text := fmt.Sprintf("fake: the server of %s served %d requests", test, len(all))
	for _, r := range all[max(len(all)-100, 0):] {
		text += fmt.Sprintf("\n\t+%v %v", r.Time.Sub(all[0].Time).Round(time.Millisecond), r)
	}
	return text
}

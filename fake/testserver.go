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
// test fails if an injected fault never applied (unless it has a Chance or was removed), if
// [Fault.Match] or a handler panicked and, with [WithStrict], if a client broke a rule. A failed
// test gets the last 100 requests in its log.
func NewTestServer(tb TB, opts ...Option) *Server {
	tb.Helper()
	s := NewServer(opts...)
	tb.Cleanup(func() {
		tb.Helper()
		s.Close()
		for _, p := range s.problems() {
			tb.Errorf("fake: %s", p)
		}
		if tb.Failed() {
			requests := s.Requests()
			text := fmt.Sprintf("fake: the server of %s served %d requests", tb.Name(), len(requests))
			for _, r := range requests[max(len(requests)-100, 0):] {
				text += fmt.Sprintf("\n\t+%v %v", r.Time.Sub(requests[0].Time).Round(time.Millisecond), r)
			}
			tb.Logf("%s", text)
		}
	})
	return s
}

// problems returns what makes a test fail: the cases that NewTestServer names.
func (s *Server) problems() (all []string) {
	s.mu.Lock() // a Match or a handler that hangs may go on after Close
	defer s.mu.Unlock()
	for _, i := range s.injections {
		if i.applied == 0 && i.fault.Chance == 0 {
			all = append(all, fmt.Sprintf("an injected fault never applied: %s; %d requests matched, Skip is %d",
				i.fault, i.matched, i.fault.Skip))
		}
	}
	for _, p := range s.panics {
		all = append(all, "the handling of a request panicked: "+p)
	}
	for _, v := range s.violations {
		if s.config.strict && !slices.Contains(s.config.allowed, v.Rule) {
			all = append(all, v.String())
		}
	}
	return all
}

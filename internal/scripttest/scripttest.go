// Package scripttest has a language for table tests of limiters. Each row has a script of steps,
// such as "get 60 59, +1s ask 9 = 6". A step is a time that passes, or a word with arguments, or
// both. After "=" is what the step must show: for most words, how many permits are given during the
// step. words.go has the meaning of each word; a test may add words. The first step that goes wrong
// ends the script; the test then prints the steps so far, and what their words mean. For example:
//
//	get 60 59                  a request ends at once; its response shows 59 of 60
//	ask 9 = 6                  nine requests ask together, and six get a permit
//	429 5s 60 50               the oldest of the six gets a 429 with a Retry-After of five seconds
//	closed = 5s minute         the key is closed for five seconds, by the limit of the minute
//	+5s = 1                    five seconds later, one of the three that wait goes ahead
//	last 200 60 49 = 2         it gets a 200, and so the other two may go, too
package scripttest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
)

// Limiter has the methods of a limiter that a client calls.
type Limiter interface {
	Acquire(ctx context.Context, r ratelimit.Request) (ratelimit.Permit, error)
	RateLimit(key string) ratelimit.Window
	Reopen(key string)
}

// Process is a process with its requests in flight, the oldest first. All use the same key.
type Process struct {
	Limiter
	Key     string
	Permits []permit
}

// Script is a script that runs in a testing/synctest bubble, or in real time. The first window of
// the server begins with the script.
type Script struct {
	*testing.T
	*Process       // the process of the step
	Numbers  []int // the numbers of the step; a status is one of them
	Times    []time.Duration
	Texts    []string         // everything after the word of the step
	Shown    string           // what the step shows; if empty, it shows the number of permits given
	Ctx      context.Context  // the context of later requests
	Waiting  int              // requests in Acquire
	Refused  *ratelimit.Error // the error of the last request, if it was refused
	Dateless bool             // responses have no Date
	HoldUp   time.Duration    // how long each report to the observer of a later request takes
	// Pause is how long a step takes while a request waits, so that permits may come late. Then a
	// step shows times in tens of seconds. If Pause is 0, a step takes until all goroutines of the
	// bubble wait.
	Pause  time.Duration
	Window time.Duration // the length of each window of the server; if it is 0, a minute

	words    map[string]*word
	meanings string      // of the words used so far
	events   chan func() // what other goroutines did, for Settle: they change no field themselves
	start    time.Time
	ahead    atomic.Int64              // how far the wall clock is ahead
	cancels  []context.CancelCauseFunc // one for each request
	given    int                       // permits so far
	opens    time.Time                 // the latest end of a window, a Retry-After, or a NotBefore
	retryAt  time.Time                 // the end of the Retry-After of the last response
	heard    []string                  // what observers were told
	shown    int                       // how many entries of heard were shown by a step
	last     ratelimit.Lockout         // the last reported one
	place    int                       // in the queue, at the last report of a wait
	problems []string                  // what is wrong with the step
}

type word struct {
	meaning string
	do      func()
	used    bool
}

// Word adds a word. do may use the Numbers, Times and Texts of the step.
func (s *Script) Word(name, meaning string, do func()) {
	if s.words == nil {
		s.words = make(map[string]*word)
	}
	s.words[name] = &word{meaning: meaning, do: do}
}

// Now returns the time of the wall clock.
func (s *Script) Now() time.Time { return time.Now().Round(0).Add(time.Duration(s.ahead.Load())) }

// Sleep lets time pass.
func (s *Script) Sleep(d time.Duration) {
	time.Sleep(d)
	s.Settle()
}

// Settle waits until limiters have done their work, and takes note of what happened.
func (s *Script) Settle() {
	if s.Pause == 0 {
		synctest.Wait()
	}
	for end := time.Now().Add(s.Pause); ; time.Sleep(time.Millisecond) {
		for len(s.events) > 0 {
			(<-s.events)()
		}
		if s.Waiting == 0 || !time.Now().Before(end) {
			return
		}
	}
}

// await waits until something has happened, but 20 seconds at most.
func (s *Script) await(happened func() bool) {
	for began := time.Now(); !happened() && time.Since(began) < 20*time.Second; {
		s.Sleep(10 * time.Millisecond)
	}
}

// Errorf notes what is wrong with the step. Package assert calls it, too.
func (s *Script) Errorf(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

func (s *Script) must(ok bool, format string, args ...any) {
	if !ok {
		s.Errorf(format, args...)
	}
}

// Run performs a script. A step that goes wrong is an error of the test.
func (s *Script) Run(script string) {
	s.Helper()
	if report := s.Perform(script); report != "" {
		s.T.Error(report)
	}
}

// general has the meaning of what is no word.
const general = `the words:
       +  "+1s" lets a second pass
       =  after it is what the step must show: without another meaning, the number of permits given
`

// Perform performs a script up to the first step that goes wrong, and returns a report of the
// steps. It returns "" if nothing goes wrong.
func (s *Script) Perform(script string) string {
	s.start, s.Ctx, s.events = time.Now().Truncate(time.Second), s.Context(), make(chan func(), 1<<14)
	s.addWords()
	steps, report := "the steps, with the time and what they showed:\n", ""
	for step := range strings.SplitSeq(script, ", ") {
		shown := s.perform(step)
		steps += fmt.Sprintf("%8v  %-24s  %s\n", time.Since(s.start).Round(time.Millisecond), step, shown)
		if len(s.problems) > 0 {
			report = steps + "WRONG: " + strings.Join(s.problems, "\n       ") + "\n" + general + s.meanings
			break
		}
	}
	s.Do("leave")
	s.await(func() bool { return s.Waiting == 0 })
	return report
}

// perform performs a step, and returns what it has shown.
func (s *Script) perform(step string) string {
	command, want, check := strings.Cut(step, " = ")
	fields, before := strings.Fields(command), s.given
	if d, err := time.ParseDuration(fields[0]); err == nil {
		s.Sleep(d)
		fields = fields[1:]
	}
	s.Shown = ""
	if len(fields) > 0 {
		s.Do(fields...)
		s.Settle()
	}
	got, what := s.Shown, "what this step shows"
	if got == "" {
		got, what = strconv.Itoa(s.given-before), "the number of permits given in this step"
	}
	if check && len(s.problems) == 0 { // a step that is wrong anyway shows nothing
		s.must(got == want, "%s must be %s, not %s", what, want, got)
	}
	return got
}

// Do performs a word with its arguments.
func (s *Script) Do(fields ...string) {
	s.Numbers, s.Times, s.Texts = nil, nil, fields[1:]
	for _, field := range fields {
		if n, err := strconv.Atoi(field); err == nil {
			s.Numbers = append(s.Numbers, n)
		} else if d, err := time.ParseDuration(field); err == nil {
			s.Times = append(s.Times, d)
		}
	}
	name := fields[0]
	if _, err := strconv.Atoi(name); err == nil {
		name = "status"
	}
	w := s.words[name]
	if w == nil {
		s.Fatalf("there is no word %q", fields)
	}
	if !w.used {
		w.used = true
		s.meanings += fmt.Sprintf("%8s  %s\n", name, w.meaning)
	}
	w.do()
}

// DoAs performs the rest of a step as another process.
func (s *Script) DoAs(p *Process) {
	old := s.Process
	s.Process = p
	s.Do(s.Texts...)
	s.Process = old
}

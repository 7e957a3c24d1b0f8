// Package scripttest has a language for table tests of limiters. Each row has a script of steps,
// such as "get 60 59, +1s ask 9 = 6". A step is a time that passes, or a word with arguments, or
// both. After "=" is what the step must show: for most words, how many permits are given during the
// step. A status, such as 429, is a word, too: it ends the request that has been in flight for the
// longest time. In "429 20s 60 5 1h", 20s is Retry-After, 60 the limit, 5 Remaining, and 1h the
// time until Reset. Without this time, Reset is the end of the minute. addWords has the other
// words; a test may have more. If a step shows something else, the test prints what each step has
// shown. For example:
//
//	get 60 59                  a request ends at once; its response shows 59 of 60
//	ask 9 = 6                  nine requests ask together, and six get a permit
//	429 5s 60 50               the oldest of the six gets a 429 with a Retry-After of five seconds
//	closed = 5s minute         the key is closed for five seconds, by the limit of the minute
//	+5s = 1                    five seconds later, one of the three that wait goes ahead
//	last 200 60 49 = 2         it gets a 200, and so the other two may go, too
package scripttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petstore/petstore-go/ratelimit"
	"github.com/petstore/petstore-go/ratelimit/ratelimittest"
)

const long = 100 * time.Hour

// Script is a script that runs in a testing/synctest bubble. It is the observer of its requests.
type Script struct {
	*testing.T
	*Process                   // the process of the step
	Words    map[string]func() // those of this test; Run adds those of all tests
	Numbers  []int             // the numbers after the word of the step
	Times    []time.Duration
	Texts    []string         // everything after the word of the step
	Shown    string           // what the step shows; if empty, it shows the number of permits given
	Ctx      context.Context  // the context of later requests
	Waiting  int              // requests in Acquire
	Refused  *ratelimit.Error // the last error
	Dateless bool             // responses have no Date
	HoldUp   time.Duration    // how long each report takes

	start time.Time
	ahead time.Duration // how far the wall clock is ahead
	leave context.CancelCauseFunc
	mu    sync.Mutex
	given int               // permits so far
	heard []string          // what observers were told
	shown int               // how many entries of heard were shown by a step
	last  ratelimit.Lockout // the last reported one
	place int               // in the queue, at the last report of a wait
}

// Process is a process with its requests in flight, the oldest first. All use the same key.
type Process struct {
	ratelimittest.Limiter
	Permits []permit
}

type permit struct {
	ratelimit.Permit
	sent time.Time
}

// Now returns the time of the wall clock. Sleep calls it for the lock alone: then limiters see what
// a step changed before the Sleep.
func (s *Script) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Round(0).Add(s.ahead)
}

// Sleep lets time pass, until all goroutines of the bubble wait.
func (s *Script) Sleep(d time.Duration) {
	s.Now()
	time.Sleep(d)
	synctest.Wait()
}

func (s *Script) count() int { return append(s.Numbers, 1)[0] }

// addWords adds the words that all scripts have.
func (s *Script) addWords() {
	maps.Copy(s.Words, map[string]func(){
		"get": func() { // a request that ends at once with 200
			s.ask(1, ratelimit.Request{MaxWait: long})
			s.respond(200)
		},
		// These words begin a request; with a number, as many requests together.
		"ask":        func() { s.ask(s.count(), ratelimit.Request{MaxWait: long}) },
		"now":        func() { s.ask(s.count(), ratelimit.Request{}) }, // with a MaxWait of 0
		"background": func() { s.ask(s.count(), ratelimit.Request{MaxWait: long, Background: true}) },
		// "pause 9s 1m" begins one with a NotBefore in nine seconds, and a MaxWait of a minute.
		"pause": func() {
			s.ask(s.count(), ratelimit.Request{NotBefore: s.Now().Add(s.Times[0]), MaxWait: s.Times[1]})
		},
		// These words end requests.
		"lost":   func() { s.Release(ratelimit.Outcome{Sent: s.Now()}) }, // without a response
		"unsent": func() { s.Release(ratelimit.Outcome{}) },
		"leave":  func() { s.renew(long) },       // ends the contexts of all that wait
		"end":    func() { s.renew(s.Times[0]) }, // the same, but later contexts end after the time
		"last": func() { // the word after it ends the newest request
			newest := max(0, len(s.Permits)-1)
			s.Permits = slices.Concat(s.Permits[newest:], s.Permits[:newest])
			s.Do(s.Texts)
		},
		"reopen": func() { s.Reopen("") },
		"clock":  func() { s.ahead += s.Times[0] }, // moves the wall clock
	})
	s.addShowingWords()
}

// addShowingWords adds the words that show something.
func (s *Script) addShowingWords() {
	maps.Copy(s.Words, map[string]func(){
		"heard": func() { // what observers were told since the last "heard"
			s.Shown, s.shown = cmp.Or(strings.Join(s.heard[s.shown:], "; "), "nothing"), len(s.heard)
		},
		"sent": func() { // Sent, Limit and Processes of the last lockout
			s.Shown = fmt.Sprint(s.last.Sent, " of ", s.last.Window.Limit, " by ", s.last.Processes)
		},
		"place":  func() { s.Shown = strconv.Itoa(s.place) }, // in the queue, of the last waiter
		"window": func() { s.Shown = s.RateLimit("").LogValue().String() },
		"until":  s.until, // how long the last refused request must wait, and why
		"closed": func() { // like "until", for a new request with a MaxWait of 0
			s.ask(1, ratelimit.Request{})
			s.until()
		},
	})
}

// Run performs a script, and compares what its steps show with what they must show.
func (s *Script) Run(script string) {
	s.start, s.leave = time.Now(), func(error) {}
	s.renew(long)
	s.addWords()
	for n, step := range strings.Split(script, ", ") {
		command, want, check := strings.Cut(step, " = ")
		fields, before := strings.Fields(command), s.given
		if d, err := time.ParseDuration(fields[0]); err == nil {
			s.Sleep(d)
			fields = fields[1:]
		}
		s.Shown = ""
		if len(fields) > 0 {
			s.Do(fields)
			synctest.Wait()
		}
		got := cmp.Or(s.Shown, strconv.Itoa(s.given-before))
		s.Logf("after %v: %s shows %s", time.Since(s.start), command, got)
		if check && got != want {
			s.Errorf("step %d must show %s", n, want)
		}
	}
}

// Do performs a word with its arguments.
func (s *Script) Do(fields []string) {
	s.Numbers, s.Times, s.Texts = nil, nil, fields[1:]
	for _, field := range s.Texts {
		if n, err := strconv.Atoi(field); err == nil {
			s.Numbers = append(s.Numbers, n)
		} else if d, err := time.ParseDuration(field); err == nil {
			s.Times = append(s.Times, d)
		}
	}
	if status, err := strconv.Atoi(fields[0]); err == nil {
		s.respond(status)
	} else if do := s.Words[fields[0]]; do != nil {
		do()
	} else {
		s.Fatalf("there is no word %q", fields)
	}
}

// renew ends the context of all requests so far. The context of later requests ends after d.
func (s *Script) renew(d time.Duration) {
	s.leave(errors.New("it left"))
	ctx, cancel := context.WithTimeout(s.Context(), d)
	s.Cleanup(cancel)
	s.Ctx, s.leave = context.WithCancelCause(ctx)
}

// ask begins n requests together.
func (s *Script) ask(n int, r ratelimit.Request) {
	p, ctx := s.Process, s.Ctx
	r.Observer = s
	s.Waiting += n
	for range n {
		go func() {
			got, err := p.Acquire(ctx, r)
			now := s.Now()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.Waiting--
			s.Refused, _ = errors.AsType[*ratelimit.Error](err)
			if err == nil {
				s.given++
				p.Permits = append(p.Permits, permit{got, now})
			} else if s.Refused.Err != nil && !(errors.Is(err, ctx.Err()) && errors.Is(err, context.Cause(ctx))) {
				s.Errorf("%v is not the error of the context and its cause", err)
			}
		}()
	}
	synctest.Wait()
}

// respond ends the oldest request in flight with a response.
func (s *Script) respond(status int) {
	now := s.Now()
	o := ratelimit.Outcome{Sent: now, Received: now, StatusCode: status}
	if !s.Dateless {
		o.Date = now.Truncate(time.Second)
	}
	if status == 429 && len(s.Times) > 0 {
		o.RetryAfter, s.Times = s.Times[0], s.Times[1:]
	}
	if len(s.Numbers) > 0 {
		reset := append(s.Times, now.Truncate(time.Minute).Add(time.Minute).Sub(now))[0]
		o.Window = ratelimit.Window{Limit: s.Numbers[0], Remaining: s.Numbers[1], Reset: now.Add(reset)}
	}
	s.Release(o)
}

// Release ends the oldest request in flight with an outcome. If o.Sent is not zero, it becomes the
// time at which the request got its permit.
func (s *Script) Release(o ratelimit.Outcome) {
	if len(s.Permits) == 0 {
		s.Fatal("no request is in flight")
	}
	oldest := s.Permits[0]
	s.Permits = s.Permits[1:]
	if !o.Sent.IsZero() {
		o.Sent = oldest.sent
	}
	l := oldest.Release(o)
	if l != (ratelimit.Lockout{}) && (!l.Until.After(s.Now()) || l.Window != s.RateLimit("")) {
		s.Errorf("Release returned %+v", l)
	}
	again := ratelimit.Outcome{Sent: s.Now(), Received: s.Now(), StatusCode: 429, RetryAfter: long}
	oldest.Release(again) // has no effect
}

func (s *Script) until() {
	if s.Refused == nil {
		s.Fatal("the last request was not refused")
	}
	s.Shown = strings.TrimSpace(span(s.Now(), s.Refused.RetryAt) + " " + string(s.Refused.Reason))
	if s.Refused.Window != s.RateLimit("") {
		s.Errorf("%+v has not the last known window", s.Refused)
	}
}

// span returns how long it is from one time to another.
func span(from, to time.Time) string {
	if to.IsZero() {
		return "?"
	}
	return to.Sub(from).Round(time.Millisecond).String()
}

// WaitStart and the next methods implement [ratelimit.Observer].
func (s *Script) WaitStart(w ratelimit.Wait) {
	s.note("wait", w.Reason, w.Until, func() { s.place = w.Waiting })
}

func (s *Script) WaitDone(w ratelimit.Wait) {
	s.note("done", w.Reason, s.start.Add(w.Duration), func() {})
}

func (s *Script) LimitClosed(l ratelimit.Lockout) {
	s.note("closed", l.Reason, l.Until, func() { s.last = l })
}

func (s *Script) LimitOpened(l ratelimit.Lockout) {
	s.note("opened", l.Reason, l.Until, func() {})
}

// note adds a report to heard, and calls set, both with the lock.
func (s *Script) note(what string, reason ratelimit.Reason, until time.Time, set func()) {
	time.Sleep(s.HoldUp)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, fmt.Sprintf("%s %s %s", what, reason, span(s.start, until)))
	set()
}

package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// perform runs a subtest for each row, which is its name and its steps.
func perform(t *testing.T, rows [][2]string) {
	for _, row := range rows {
		t.Run(row[0], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{T: t, start: time.Now()}
				s.begin(0)
				for step := range strings.SplitSeq(row[1]+", leave, free", ", ") {
					s.step(step)
				}
				nothingLeft(t, s.limiter)
			})
		})
	}
}

// nothingLeft checks that no request waits or is in flight.
func nothingLeft(t *testing.T, l *Limiter) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.keys {
		assert.Zero(t, len(q.budget.inFlight)+len(q.waiters)+q.waiting, "requests")
		assert.Nil(t, q.timer, "timer")
	}
}

// script is a process whose requests share a key, and their observer.
type script struct {
	*testing.T
	start    time.Time
	limiter  *Limiter
	dateless bool         // responses have no Date
	ahead    atomic.Int64 // how far the wall clock is ahead
	ctx      context.Context
	leave    context.CancelFunc

	mu      sync.Mutex
	permits []sent       // the oldest first
	given   atomic.Int64 // permits so far
	refused *Error       // the last one
	heard   []string     // what the observer was told
	lockout Lockout      // the last one that it was told
}

// sent is a request in flight.
type sent struct {
	Permit
	at time.Time
}

// begin makes a limiter that knows nothing but the number of processes.
func (s *script) begin(processes int) {
	s.limiter = New(Processes(processes))
	s.limiter.now = func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }
	s.ctx, s.leave = context.WithCancel(s.Context())
}

// step is, after a time such as +1m, what happens: "ask 5" begins five requests that wait for long,
// "now 5" five that do not. A status ends the oldest request in flight or, after "last", the
// newest: "429 20s 60 5 1h" has Retry-After, limit, Remaining, and the time to Reset, by default
// the end of the minute. The number behind "=" is how many permits were given in this step. Behind
// "until" it is how long the last request that was refused has to wait, and why, behind "closed"
// the same of a new one that does not wait, if that time is true.
func (s *script) step(text string) {
	s.Helper()
	command, want, check := strings.Cut(text, " = ")
	words, before := strings.Fields(command), s.given.Load()
	if d, err := time.ParseDuration(words[0]); err == nil {
		time.Sleep(d)
		synctest.Wait()
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	if words[0] == "last" {
		words = words[1:]
		slices.Reverse(s.permits)
		defer func() { slices.Reverse(s.permits) }()
	}
	var numbers []int
	var times []time.Duration
	for _, word := range words[1:] {
		if n, err := strconv.Atoi(word); err == nil {
			numbers = append(numbers, n)
		} else {
			d, err := time.ParseDuration(word)
			require.NoError(s, err, text)
			times = append(times, d)
		}
	}
	got := s.do(words, numbers, times)
	synctest.Wait()
	got = cmp.Or(got, strconv.FormatInt(s.given.Load()-before, 10))
	assert.True(s, !check || want == got, "%s: %s", text, got)
}

func (s *script) do(words []string, numbers []int, times []time.Duration) (got string) {
	got = s.show(words[0])
	if got == "" && !s.startsRequests(words[0], numbers, times) && !s.changes(words[0], numbers, times) {
		s.release(words[0], numbers, times)
	}
	return got
}

// show runs a word of the script that asks for a result, and returns what requests or their
// observer were told. For any other word it returns the empty string.
func (s *script) show(what string) (got string) {
	switch what {
	case "heard":
		got, s.heard = cmp.Or(strings.Join(s.heard, "; "), "nothing"), nil
	case "sent": // requests that the last lockout reports, and of how many processes
		got = fmt.Sprint(s.lockout.Sent, " of ", s.lockout.Window.Limit, " by ", s.lockout.Processes)
	case "until":
		require.NotNil(s, s.refused)
		if s.refused.RetryAt.IsZero() {
			return "?"
		}
		got = strings.TrimSpace(s.refused.RetryAt.Sub(s.limiter.now()).String() + " " + string(s.refused.Reason))
	case "closed":
		s.ask(1, Request{})
		got = s.show("until")
		at := s.refused.RetryAt
		s.acquire(Request{MaxWait: long})
		assert.Equal(s, at, s.limiter.now(), "when it opens")
	}
	return got
}

const long = 100 * time.Hour

// startsRequests starts requests if the word is one that does so.
func (s *script) startsRequests(what string, numbers []int, times []time.Duration) bool {
	n, r := 1, Request{MaxWait: long}
	if len(numbers) > 0 {
		n = numbers[0]
	}
	switch what {
	case "ask":
	case "now":
		r.MaxWait = 0
	case "background":
		r.Background = true
	case "pause": // with its MaxWait
		r.NotBefore, r.MaxWait = s.limiter.now().Add(times[0]), times[1]
	default:
		return false
	}
	s.ask(n, r)
	return true
}

// changes changes something else than the requests in flight, if that is what the word says.
func (s *script) changes(what string, numbers []int, times []time.Duration) bool {
	switch what {
	case "":
	case "told":
		s.begin(numbers[0])
	case "leave": // all that wait
		s.leave()
		s.ctx, s.leave = context.WithCancel(s.Context())
	case "end": // contexts from now on
		s.ctx, s.leave = context.WithTimeout(s.Context(), times[0])
	case "dateless": // from now on
		s.dateless = true
	case "free": // all permits
		for len(s.permits) > 0 {
			s.release("unsent", nil, nil)
		}
	case "reopen":
		s.limiter.Reopen("")
	case "clock":
		s.ahead.Add(int64(times[0]))
	default:
		return false
	}
	return true
}

// ask begins n requests, one after the other.
func (s *script) ask(n int, r Request) {
	for range n {
		go s.acquire(r)
		synctest.Wait()
	}
}

func (s *script) acquire(r Request) {
	r.Observer = s
	p, err := s.limiter.Acquire(s.ctx, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused, _ = errors.AsType[*Error](err)
	if err == nil {
		s.given.Add(1)
		s.permits = append(s.permits, sent{p, s.limiter.now()})
	}
}

func (s *script) WaitStart(w Wait)      { s.note("wait", w.Reason, w.Until) }
func (s *script) WaitDone(w Wait)       { s.note("done", w.Reason, s.start.Add(w.Duration)) }
func (s *script) LimitClosed(l Lockout) { s.lockout = l; s.note("closed", l.Reason, l.Until) }
func (s *script) LimitOpened(l Lockout) { s.note("opened", l.Reason, l.Until) }

// note records what an observer is told. It may use the limiter.
func (s *script) note(what string, reason Reason, until time.Time) {
	s.limiter.RateLimit("")
	s.mu.Lock()
	defer s.mu.Unlock()
	at := "?"
	if !until.IsZero() {
		at = until.Sub(s.start).String()
	}
	s.heard = append(s.heard, fmt.Sprintf("%s %s %s", what, reason, at))
}

// release ends the oldest request in flight: with a status, "lost" or "unsent".
func (s *script) release(what string, numbers []int, times []time.Duration) {
	require.NotEmpty(s, s.permits)
	now, oldest := s.limiter.now(), s.permits[0]
	s.permits = s.permits[1:]
	o := Outcome{Sent: oldest.at}
	switch what {
	case "unsent":
		o.Sent = time.Time{}
	case "lost":
	default:
		status, err := strconv.Atoi(what)
		require.NoError(s, err, "no such word")
		o.StatusCode, o.Received, o.Date = status, now, now.Truncate(time.Second)
	}
	if s.dateless {
		o.Date = time.Time{}
	}
	if o.StatusCode == http.StatusTooManyRequests && len(times) > 0 {
		o.RetryAfter, times = times[0], times[1:]
	}
	if len(numbers) > 0 {
		o.Window = Window{Limit: numbers[0], Remaining: numbers[1], Reset: now.Truncate(time.Minute).Add(time.Minute)}
		if len(times) > 0 {
			o.Window.Reset = now.Add(times[0])
		}
	}
	oldest.Release(o)
}

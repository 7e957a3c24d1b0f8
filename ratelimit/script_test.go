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

const long = 100 * time.Hour

// words are the words of the scripts. A status is a word, too: it ends the request that is in
// flight longest or, after "last", the newest. In "429 20s 60 5 1h", 20s is Retry-After, 60 the
// limit, 5 Remaining, and 1h the time until Reset; without it, Reset is the end of the minute.
var words = map[string]func(s *script){
	"get": func(s *script) { // a request that ends at once with 200
		s.ask(1, Request{MaxWait: long})
		s.respond(http.StatusOK)
	},
	// These words begin a request, or together as many as the number after the word.
	"ask":        func(s *script) { s.ask(s.count(), Request{MaxWait: long}) },
	"now":        func(s *script) { s.ask(s.count(), Request{}) }, // with a MaxWait of 0
	"background": func(s *script) { s.ask(s.count(), Request{MaxWait: long, Background: true}) },
	"pause": func(s *script) { // with the time until NotBefore, and a MaxWait
		s.ask(s.count(), Request{NotBefore: s.now().Add(s.times[0]), MaxWait: s.times[1]})
	},
	// These words end requests.
	"lost":   func(s *script) { s.release(Outcome{}, true) },  // without a response
	"unsent": func(s *script) { s.release(Outcome{}, false) }, // not sent
	"free":   (*script).free,                                  // all in flight, as not sent
	"leave":  func(s *script) { s.renew(long) },               // ends the contexts of all that wait
	"end":    func(s *script) { s.renew(s.times[0]) },         // the same; later contexts end after a time
	// These words change something else.
	"told":     func(s *script) { s.begin(s.numbers[0]) }, // makes a limiter with Processes(n)
	"reopen":   func(s *script) { s.limiter.Reopen("") },
	"clock":    func(s *script) { s.ahead.Add(int64(s.times[0])) }, // moves the wall clock
	"dateless": func(s *script) { s.dateless = true },              // later responses have no Date
	// These words show something.
	"heard": func(s *script) { // what observers were told since the last "heard"
		s.shown, s.heard = cmp.Or(strings.Join(s.heard, "; "), "nothing"), nil
	},
	"sent": func(s *script) { // requests, limit and processes of the last report
		s.shown = fmt.Sprint(s.last.Sent, " of ", s.last.Window.Limit, " by ", s.last.Processes)
	},
	"place":  func(s *script) { s.shown = strconv.FormatInt(s.place.Load(), 10) }, // in the queue, of the last waiter
	"window": func(s *script) { s.shown = s.limiter.RateLimit("").LogValue().String() },
	"until":  (*script).until, // how long the last refused request must wait, and why
	"opens":  (*script).opens, // the same for a new request, with a MaxWait of 0; the key must open then
}

// perform runs a subtest for each row, which has a name and steps. A step is a time that passes,
// such as +1m, or a word with its arguments, or both. After "=" is what the step shows: for most
// words, how many permits are given in it.
func perform(t *testing.T, rows [][2]string) {
	for _, row := range rows {
		t.Run(row[0], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{T: t, start: time.Now(), leave: func(error) {}}
				s.begin(0)
				s.renew(long)
				for step := range strings.SplitSeq(row[1]+", leave, free", ", ") {
					s.step(step)
				}
				for _, q := range s.limiter.keys {
					assert.Zero(t, len(q.budget.inFlight)+len(q.waiters)+q.waiting, "requests")
					assert.Nil(t, q.timer, "timer")
				}
			})
		})
	}
}

// script is a process whose requests share a key. It is their observer, too.
type script struct {
	*testing.T
	start    time.Time
	limiter  *Limiter
	told     int          // the number of processes
	ahead    atomic.Int64 // how far the wall clock is ahead
	dateless bool         // responses have no Date
	ctx      context.Context
	leave    context.CancelCauseFunc

	numbers       []int // after the word of the step
	times         []time.Duration
	place         atomic.Int64
	shown         string       // by the step; empty: shows the number of permits given
	asking, given atomic.Int64 // requests in Acquire, and permits so far

	mu      sync.Mutex
	permits []*permit // the oldest first
	refused *Error    // the last one
	heard   []string  // what observers were told
	last    Lockout   // the last report
}

func (s *script) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }
func (s *script) count() int     { return append(s.numbers, 1)[0] }

// begin makes a limiter that knows nothing but the number of processes.
func (s *script) begin(processes int) {
	s.limiter, s.told = New(Processes(processes)), max(0, processes)
	s.limiter.now = s.now
}

// renew ends the context of all requests so far. The context of later requests ends after d.
func (s *script) renew(d time.Duration) {
	s.leave(errors.New("it left"))
	ctx, cancel := context.WithTimeout(s.Context(), d)
	s.Cleanup(cancel)
	s.ctx, s.leave = context.WithCancelCause(ctx)
}

// step performs a step, and compares what the step shows with what the row expects.
func (s *script) step(text string) {
	s.Helper()
	command, want, check := strings.Cut(text, " = ")
	fields, before := strings.Fields(command), s.given.Load()
	if d, err := time.ParseDuration(fields[0]); err == nil {
		time.Sleep(d)
		synctest.Wait()
		fields = fields[1:]
	}
	s.shown = ""
	if len(fields) > 0 && fields[0] == "last" {
		slices.Reverse(s.permits)
		s.do(fields[1:])
		slices.Reverse(s.permits)
	} else if len(fields) > 0 {
		s.do(fields)
	}
	synctest.Wait()
	got := cmp.Or(s.shown, strconv.FormatInt(s.given.Load()-before, 10))
	assert.True(s, !check || want == got, "%s: %s", text, got)
}

func (s *script) do(fields []string) {
	s.Helper()
	s.numbers, s.times = nil, nil
	for _, field := range fields[1:] {
		if n, err := strconv.Atoi(field); err == nil {
			s.numbers = append(s.numbers, n)
		} else {
			d, err := time.ParseDuration(field)
			require.NoError(s, err, fields)
			s.times = append(s.times, d)
		}
	}
	if status, err := strconv.Atoi(fields[0]); err == nil {
		s.respond(status)
		return
	}
	require.Contains(s, words, fields[0])
	words[fields[0]](s)
}

// ask begins n requests together.
func (s *script) ask(n int, r Request) {
	s.asking.Add(int64(n))
	for range n {
		go s.acquire(s.ctx, r)
	}
	synctest.Wait()
}

func (s *script) acquire(ctx context.Context, r Request) {
	r.Observer = s
	p, err := s.limiter.Acquire(ctx, r)
	s.asking.Add(-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused, _ = errors.AsType[*Error](err)
	if err == nil {
		s.given.Add(1)
		s.permits = append(s.permits, p.(*permit))
		return
	}
	assert.Equal(s, s.limiter.RateLimit(""), s.refused.Window)
	if s.refused.Err != nil {
		assert.ErrorIs(s, err, ctx.Err())
		assert.ErrorIs(s, err, context.Cause(ctx))
	}
}

// respond ends the oldest request in flight with a response.
func (s *script) respond(status int) {
	now := s.now()
	o := Outcome{Received: now, StatusCode: status}
	if !s.dateless {
		o.Date = now.Truncate(time.Second)
	}
	if status == http.StatusTooManyRequests && len(s.times) > 0 {
		o.RetryAfter, s.times = s.times[0], s.times[1:]
	}
	if len(s.numbers) > 0 {
		reset := append(s.times, now.Truncate(time.Minute).Add(time.Minute).Sub(now))[0]
		o.Window = Window{Limit: s.numbers[0], Remaining: s.numbers[1], Reset: now.Add(reset)}
	}
	s.release(o, true)
}

func (s *script) release(o Outcome, sent bool) {
	require.NotEmpty(s, s.permits)
	oldest := s.permits[0]
	s.permits = s.permits[1:]
	if sent {
		o.Sent = oldest.admitted
	}
	if l := oldest.Release(o); l != (Lockout{}) {
		assert.True(s, l.Until.After(s.now()), "%+v", l)
		s.checkReport(l)
	}
	oldest.Release(Outcome{Sent: s.now(), Received: s.now(), StatusCode: 429, RetryAfter: long}) // has no effect
}

func (s *script) free() {
	for len(s.permits) > 0 {
		s.release(Outcome{}, false)
	}
}

func (s *script) until() {
	require.NotNil(s, s.refused)
	s.shown = "?"
	if at := s.refused.RetryAt; !at.IsZero() {
		s.shown = strings.TrimSpace(at.Sub(s.now()).String() + " " + string(s.refused.Reason))
	}
}

func (s *script) opens() {
	s.ask(1, Request{})
	s.until()
	at := s.refused.RetryAt
	s.asking.Add(1)
	s.acquire(s.ctx, Request{MaxWait: long})
	assert.Equal(s, at, s.now(), "when it opens")
}

func (s *script) WaitStart(w Wait) {
	s.place.Store(int64(w.Waiting))
	s.note("wait", w.Reason, w.Until)
}

func (s *script) WaitDone(w Wait) {
	s.checkReport(Lockout{Window: w.Window, Sent: w.Sent, Processes: w.Processes})
	s.note("done", w.Reason, s.start.Add(w.Duration))
}

func (s *script) LimitClosed(l Lockout) { s.checkReport(l); s.note("closed", l.Reason, l.Until) }
func (s *script) LimitOpened(l Lockout) { s.note("opened", l.Reason, l.Until) }

// checkReport compares a report with what the limiter says now.
func (s *script) checkReport(l Lockout) {
	assert.Equal(s, s.limiter.RateLimit(""), l.Window)
	assert.Equal(s, s.told, l.Processes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = l
}

func (s *script) note(what string, reason Reason, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := "?"
	if !until.IsZero() {
		at = until.Sub(s.start).String()
	}
	s.heard = append(s.heard, fmt.Sprintf("%s %s %s", what, reason, at))
}

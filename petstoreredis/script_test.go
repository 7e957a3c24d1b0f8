package petstoreredis_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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

	"github.com/petstore/petstore-go/petstoreredis"
	"github.com/petstore/petstore-go/ratelimit"
)

const long = 100 * time.Hour

// words are the words of the scripts. A status is a word, too: it ends the request that is in
// flight longest or, after "last", the newest. In "429 20s 60 5 1h", 20s is Retry-After, 60 the
// limit, 5 Remaining, and 1h the time until Reset; without it, Reset is the end of the minute.
var words = map[string]func(s *script){
	"get": func(s *script) { // a request that ends at once with 200
		s.ask(1, ratelimit.Request{MaxWait: long})
		synctest.Wait()
		s.respond(http.StatusOK)
	},
	// These words begin a request, or together as many as the number after the word.
	"ask":        func(s *script) { s.ask(s.count(), ratelimit.Request{MaxWait: long}) },
	"now":        func(s *script) { s.ask(s.count(), ratelimit.Request{}) }, // with a MaxWait of 0
	"background": func(s *script) { s.ask(s.count(), ratelimit.Request{MaxWait: long, Background: true}) },
	"pause": func(s *script) { // with the time until NotBefore, and a MaxWait
		s.ask(1, ratelimit.Request{NotBefore: s.now().Add(s.times[0]), MaxWait: s.times[1]})
	},
	// These words end requests.
	"lost":      func(s *script) { s.release(ratelimit.Outcome{Sent: s.now()}) }, // without a response
	"abandoned": func(s *script) { s.release(ratelimit.Outcome{Sent: s.now(), Abandoned: true}) },
	"unsent":    func(s *script) { s.release(ratelimit.Outcome{}) }, // not sent
	"leave":     func(s *script) { s.renew(long) },                  // ends the contexts of all that wait
	"end":       func(s *script) { s.renew(s.times[0]) },            // the same; later contexts end after a time
	// These words change something else.
	"reopen":   func(s *script) { s.Reopen("") },
	"clock":    func(s *script) { s.ahead.Add(int64(s.times[0])) }, // moves the wall clock
	"observer": func(s *script) { s.holdUp = s.times[0] },          // each report takes so long
	"share": func(s *script) { // sets WithShare; all processes begin anew
		s.opts = append(s.opts, petstoreredis.WithShare(s.numbers[0]))
		clear(s.processes)
	},
	// These words change Redis.
	"broken":    func(s *script) { s.redis.broken.Store(true) },                   // no connections
	"silent":    func(s *script) { s.redis.silent.Store(true) },                   // no replies
	"replylost": func(s *script) { s.redis.lost.Store(true) },                     // the next reply
	"error":     func(s *script) { s.redis.SetError(strings.Join(s.texts, " ")) }, // in each reply
	"slow":      func(s *script) { s.redis.latency.Store(int64(s.times[0])) },     // each command
	"up":        func(s *script) { s.redis.repair() },                             // works again
	"ahead":     func(s *script) { s.redis.ahead.Add(int64(s.times[0])) },         // moves its clock
	"empty":     func(s *script) { s.redis.FlushAll() },
	"set":       func(s *script) { s.redis.HSet(s.pot(), s.texts...) }, // a field of the pot
	// These words show something.
	"waiting": func(s *script) { s.shown = strconv.FormatInt(s.waiting.Load(), 10) }, // requests in Acquire
	"heard": func(s *script) { // what observers were told since the last "heard"
		s.shown, s.heard = cmp.Or(strings.Join(s.heard, "; "), "nothing"), nil
	},
	"sent": func(s *script) { // requests, limit and processes of the last report
		s.shown = fmt.Sprint(s.last.Sent, " of ", s.last.Window.Limit, " by ", s.last.Processes)
	},
	"place":  func(s *script) { s.shown = strconv.FormatInt(s.place.Load(), 10) }, // in the queue, of the last waiter
	"window": func(s *script) { s.shown = s.RateLimit("").LogValue().String() },
	"until":  (*script).until,  // how long the last refused request must wait, and why
	"closed": (*script).closed, // the same for a new request, with a MaxWait of 0
	"ttl":    func(s *script) { s.shown = s.redis.TTL(s.pot()).String() },
	"flush":  func(s *script) { s.shown = fmt.Sprint(s.Flush(s.ctx)) },
	"log":    (*script).checkLog, // since the last "log": one line with these words, or nothing
	"commands": func(s *script) { // at most so many since the last "commands"
		assert.LessOrEqual(s, s.redis.evals.Swap(0), int64(s.numbers[0]), "commands")
	},
}

// perform runs a subtest for each row, which has a name and steps. A step is a time that passes,
// such as +1m, or a word with its arguments, or both. A process may stand before the word; by
// default it is "a". After "=" is what the step shows: for most words, the permits given.
func perform(t *testing.T, rows [][2]string) {
	for _, row := range rows {
		t.Run(row[0], func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, r *virtualRedis) {
				s := &script{T: t, redis: r, start: time.Now(), leave: func(error) {}, processes: map[string]*process{}}
				s.renew(long)
				for step := range strings.SplitSeq(row[1]+", up, leave", ", ") {
					s.step(step)
				}
				assert.Zero(t, s.waiting.Load())
			})
		})
	}
}

// script is some processes whose requests share a key. It is their observer, too.
type script struct {
	*testing.T
	*process  // of the step
	redis     *virtualRedis
	start     time.Time
	ahead     atomic.Int64 // how far the wall clock is ahead
	ctx       context.Context
	leave     context.CancelCauseFunc
	opts      []petstoreredis.Option // of processes that begin from now on
	processes map[string]*process    // by their names
	log       bytes.Buffer

	numbers        []int // after the word of the step
	times          []time.Duration
	texts          []string // the numbers and times as well
	place          atomic.Int64
	shown          string       // by the step; empty: shows the number of permits given
	given, waiting atomic.Int64 // permits so far, and requests in Acquire

	mu      sync.Mutex
	refused *ratelimit.Error  // the last one
	heard   []string          // what observers were told
	last    ratelimit.Lockout // the last report
	holdUp  time.Duration     // how long each report takes
}

type process struct {
	*petstoreredis.Limiter
	permits []ratelimit.Permit // of requests in flight, the oldest first
}

func (s *script) now() time.Time { return time.Now().Round(0).Add(time.Duration(s.ahead.Load())) }
func (s *script) pot() string    { return s.redis.Keys()[0] }
func (s *script) count() int     { return append(s.numbers, 1)[0] }

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
	name := "a"
	s.shown = ""
	if len(fields) > 0 && len(fields[0]) == 1 {
		name, fields = fields[0], fields[1:]
	}
	s.enter(name)
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

// enter makes the process with this name the process of the step.
func (s *script) enter(name string) {
	if s.processes[name] == nil {
		opts := append(s.opts, petstoreredis.WithLogger(slog.New(slog.NewTextHandler(&s.log, nil))))
		s.processes[name] = &process{Limiter: s.redis.process(s.T, opts...)}
		s.processes[name].SetClock(s.now)
	}
	s.process = s.processes[name]
}

func (s *script) do(fields []string) {
	s.Helper()
	s.numbers, s.times, s.texts = nil, nil, fields[1:]
	for _, field := range s.texts {
		if n, err := strconv.Atoi(field); err == nil {
			s.numbers = append(s.numbers, n)
		} else if d, err := time.ParseDuration(field); err == nil {
			s.times = append(s.times, d)
		} else {
			require.Contains(s, "error log set", fields[0], "has no texts")
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
func (s *script) ask(n int, r ratelimit.Request) {
	p, ctx := s.process, s.ctx
	r.Observer = s
	s.waiting.Add(int64(n))
	for range n {
		go func() {
			permit, err := p.Acquire(ctx, r)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.waiting.Add(-1)
			s.refused, _ = errors.AsType[*ratelimit.Error](err)
			if err == nil {
				s.given.Add(1)
				p.permits = append(p.permits, permit)
			} else if s.refused.Err != nil {
				assert.ErrorIs(s, err, ctx.Err())
				assert.ErrorIs(s, err, context.Cause(ctx))
			}
		}()
	}
}

// respond ends the oldest request in flight with a response.
func (s *script) respond(status int) {
	now := s.now()
	o := ratelimit.Outcome{Sent: now, Received: now, StatusCode: status, Date: now.Truncate(time.Second)}
	if status == http.StatusTooManyRequests && len(s.times) > 0 {
		o.RetryAfter, s.times = s.times[0], s.times[1:]
	}
	if len(s.numbers) > 0 {
		reset := append(s.times, now.Truncate(time.Minute).Add(time.Minute).Sub(now))[0]
		o.Window = ratelimit.Window{Limit: s.numbers[0], Remaining: s.numbers[1], Reset: now.Add(reset)}
	}
	s.release(o)
}

func (s *script) release(o ratelimit.Outcome) {
	require.NotEmpty(s, s.permits)
	oldest := s.permits[0]
	s.permits = s.permits[1:]
	if l := oldest.Release(o); l != (ratelimit.Lockout{}) {
		assert.True(s, l.Until.After(s.now()), "%+v", l)
		assert.Equal(s, s.RateLimit(""), l.Window)
	}
	again := ratelimit.Outcome{Sent: s.now(), Received: s.now(), StatusCode: 429, RetryAfter: long}
	oldest.Release(again) // has no effect
}

func (s *script) until() {
	require.NotNil(s, s.refused)
	assert.Equal(s, s.RateLimit(""), s.refused.Window)
	d := s.refused.RetryAt.Sub(s.now()).Round(time.Millisecond)
	s.shown = strings.TrimSpace(d.String() + " " + string(s.refused.Reason))
}

func (s *script) closed() {
	s.ask(1, ratelimit.Request{})
	synctest.Wait()
	s.until()
}

func (s *script) checkLog() {
	for _, text := range s.texts {
		assert.Contains(s, s.log.String(), text)
	}
	assert.Equal(s, min(1, len(s.texts)), strings.Count(s.log.String(), "\n"), s.log.String())
	s.log.Reset()
}

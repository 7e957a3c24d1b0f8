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

// words are the words of the scripts. A status is one, too: it ends the oldest request in flight or,
// after "last", the newest. "429 20s 60 5 1h" has a Retry-After, the limit, Remaining, and the time
// to Reset, which is by default the end of the minute.
var words = map[string]func(s *script) string{
	// They begin a request, or as many as the number behind them, together.
	"ask":        func(s *script) string { return s.ask(ratelimit.Request{MaxWait: long}) },
	"now":        func(s *script) string { return s.ask(ratelimit.Request{}) }, // with a MaxWait of 0
	"background": func(s *script) string { return s.ask(ratelimit.Request{MaxWait: long, Background: true}) },
	"pause": func(s *script) string { // with a NotBefore after a time, and a MaxWait
		return s.ask(ratelimit.Request{NotBefore: s.now().Add(s.times[0]), MaxWait: s.times[1]})
	},

	// They end requests.
	"spent":     func(s *script) string { return s.release(&ratelimit.Outcome{}) }, // as a status, without a response
	"abandoned": func(s *script) string { return s.release(&ratelimit.Outcome{Abandoned: true}) },
	"unsent":    func(s *script) string { return s.release(nil) },      // the same, before it is sent
	"leave":     func(s *script) string { return s.renew(long) },       // the contexts of all that wait
	"end":       func(s *script) string { return s.renew(s.times[0]) }, // and of later ones after a time

	// They change something else.
	"reopen":   func(s *script) string { s.Reopen(""); return "" },
	"clock":    func(s *script) string { s.ahead.Add(int64(s.times[0])); return "" }, // the wall clock
	"observer": func(s *script) string { s.holdUp = s.times[0]; return "" },          // takes so long
	"share": func(s *script) string { // is WithShare of all processes, which are new
		s.opts = append(s.opts, petstoreredis.WithShare(s.numbers[0]))
		clear(s.processes)
		return ""
	},

	// They change Redis.
	"broken":  func(s *script) string { s.redis.broken.Store(true); return "" },                   // no connection
	"silent":  func(s *script) string { s.redis.silent.Store(true); return "" },                   // no reply
	"lost":    func(s *script) string { s.redis.lost.Store(true); return "" },                     // is the next reply
	"error":   func(s *script) string { s.redis.SetError(strings.Join(s.texts, " ")); return "" }, // each reply
	"slow":    func(s *script) string { s.redis.latency.Store(int64(s.times[0])); return "" },     // each command
	"up":      func(s *script) string { s.redis.repair(); return "" },                             // all is well
	"ahead":   func(s *script) string { s.redis.ahead.Add(int64(s.times[0])); return "" },         // its clock
	"empty":   func(s *script) string { s.redis.FlushAll(); return "" },
	"spoil":   func(s *script) string { s.redis.HSet(s.pot(), s.texts[0], "junk"); return "" }, // a field of the pot
	"restore": func(s *script) string { s.redis.HSet(s.pot(), s.saved...); return "" },         // an older pot
	"save": func(s *script) string { // the pot
		fields, _ := s.redis.HKeys(s.pot())
		for _, name := range fields {
			s.saved = append(s.saved, name, s.redis.HGet(s.pot(), name))
		}
		return ""
	},

	// They show something.
	"waiting": func(s *script) string { return strconv.FormatInt(s.waiting.Load(), 10) }, // requests in Acquire
	"heard": func(s *script) string { // what observers were told since the last time
		defer func() { s.heard = nil }()
		return cmp.Or(strings.Join(s.heard, "; "), "nothing")
	},
	"sent": func(s *script) string { // what their last report says of the window
		return fmt.Sprint(s.last.Sent, " of ", s.last.Window.Limit, " by ", s.last.Processes)
	},
	"window": func(s *script) string { return s.RateLimit("").LogValue().String() },
	"until":  (*script).until,  // how long the last refused one has to wait, and why
	"closed": (*script).closed, // the same of one that does not wait

	"ttl":   func(s *script) string { return s.redis.TTL(s.pot()).String() }, // of the pot
	"flush": func(s *script) string { return fmt.Sprint(s.Flush(s.ctx)) },
	"log":   (*script).checkLog, // is one line with these words, or nothing, since the last time
	"commands": func(s *script) string { // that Redis got since the last time: at most so many
		assert.LessOrEqual(s, s.redis.evals.Swap(0), int64(s.numbers[0]), "commands")
		return ""
	},
}

const long = 100 * time.Hour

// perform runs a subtest for each row, which is its name and its steps. A step is a time that
// passes, such as +1m, or the name of a process, which is "a" by default, and a word, or both.
// Behind "=" is what it shows: for most words, how many permits are given in this step.
func perform(t *testing.T, rows [][2]string) {
	for _, row := range rows {
		t.Run(row[0], func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, r *virtualRedis) {
				s := &script{T: t, redis: r, start: time.Now(), processes: map[string]*process{}}
				s.renew(long)
				for step := range strings.SplitSeq(row[1]+", up, leave", ", ") {
					s.step(step)
				}
				assert.Zero(t, s.waiting.Load())
			})
		})
	}
}

// script is some processes whose requests share a key, and their observer.
type script struct {
	*testing.T
	*process  // of the step
	redis     *virtualRedis
	start     time.Time
	ahead     atomic.Int64 // how far the wall clock is ahead
	ctx       context.Context
	leave     context.CancelCauseFunc
	opts      []petstoreredis.Option // of processes from now on
	processes map[string]*process    // by their names
	log       bytes.Buffer
	saved     []string // fields of a pot and their values

	numbers []int // behind the word of the step
	times   []time.Duration
	texts   []string

	given, waiting atomic.Int64 // permits so far, and requests in Acquire

	mu      sync.Mutex
	refused *ratelimit.Error  // the last one
	heard   []string          // what observers were told
	last    ratelimit.Lockout // what their last report says of the window
	holdUp  time.Duration     // by the observer
}

// process is one of the processes.
type process struct {
	*petstoreredis.Limiter
	permits []sent // the oldest first
}

// sent is a request in flight.
type sent struct {
	ratelimit.Permit
	at time.Time
}

func (s *script) now() time.Time { return time.Now().Round(0).Add(time.Duration(s.ahead.Load())) }

func (s *script) pot() string { return s.redis.Keys()[0] }

var errLeft = errors.New("it left")

// renew ends the context of all requests so far. That of later ones ends after d.
func (s *script) renew(d time.Duration) string {
	if s.leave != nil {
		s.leave(errLeft)
	}
	ctx, cancel := context.WithTimeout(s.Context(), d)
	s.Cleanup(cancel)
	s.ctx, s.leave = context.WithCancelCause(ctx)
	return ""
}

// step performs a step, and compares what it shows.
func (s *script) step(text string) {
	s.Helper()
	command, want, check := strings.Cut(text, " = ")
	fields, before := strings.Fields(command), s.given.Load()
	if d, err := time.ParseDuration(fields[0]); err == nil {
		time.Sleep(d)
		synctest.Wait()
		fields = fields[1:]
	}
	name, got := "a", ""
	if len(fields) > 0 && len(fields[0]) == 1 {
		name, fields = fields[0], fields[1:]
	}
	s.enter(name)
	if len(fields) > 0 && fields[0] == "last" {
		slices.Reverse(s.permits)
		got = s.do(fields[1:])
		slices.Reverse(s.permits)
	} else if len(fields) > 0 {
		got = s.do(fields)
	}
	synctest.Wait()
	got = cmp.Or(got, strconv.FormatInt(s.given.Load()-before, 10))
	assert.True(s, !check || want == got, "%s: %s", text, got)
}

// enter makes a process that of the step.
func (s *script) enter(name string) {
	if s.processes[name] == nil {
		opts := append(s.opts, petstoreredis.WithLogger(slog.New(slog.NewTextHandler(&s.log, nil))))
		s.processes[name] = &process{Limiter: s.redis.process(s.T, opts...)}
		s.processes[name].SetClock(s.now)
	}
	s.process = s.processes[name]
}

// do performs a word with what is behind it, and returns what it shows.
func (s *script) do(fields []string) string {
	s.Helper()
	s.numbers, s.times, s.texts = nil, nil, nil
	for _, field := range fields[1:] {
		if n, err := strconv.Atoi(field); err == nil {
			s.numbers = append(s.numbers, n)
		} else if d, err := time.ParseDuration(field); err == nil {
			s.times = append(s.times, d)
		} else {
			require.Contains(s, []string{"error", "log", "spoil"}, fields[0], "has no texts")
			s.texts = append(s.texts, field)
		}
	}
	if status, err := strconv.Atoi(fields[0]); err == nil {
		return s.respond(status)
	}
	require.Contains(s, words, fields[0])
	return words[fields[0]](s)
}

// ask begins requests together.
func (s *script) ask(r ratelimit.Request) string {
	n, p, ctx := append(s.numbers, 1)[0], s.process, s.ctx
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
				p.permits = append(p.permits, sent{permit, s.now()})
			} else if s.refused.Err != nil {
				assert.ErrorIs(s, err, ctx.Err())
				assert.ErrorIs(s, err, context.Cause(ctx))
			}
		}()
	}
	return ""
}

// respond ends the oldest request in flight with a response.
func (s *script) respond(status int) string {
	now := s.now()
	o := &ratelimit.Outcome{Received: now, StatusCode: status, Date: now.Truncate(time.Second)}
	if status == http.StatusTooManyRequests && len(s.times) > 0 {
		o.RetryAfter, s.times = s.times[0], s.times[1:]
	}
	if len(s.numbers) > 0 {
		reset := append(s.times, now.Truncate(time.Minute).Add(time.Minute).Sub(now))[0]
		o.Window = ratelimit.Window{Limit: s.numbers[0], Remaining: s.numbers[1], Reset: now.Add(reset)}
	}
	return s.release(o)
}

// release ends the oldest request in flight; it was not sent if o is nil.
func (s *script) release(o *ratelimit.Outcome) string {
	require.NotEmpty(s, s.permits)
	oldest := s.permits[0]
	s.permits = s.permits[1:]
	if o == nil {
		o = &ratelimit.Outcome{}
	} else {
		o.Sent = oldest.at
	}
	if l := oldest.Release(*o); l != (ratelimit.Lockout{}) {
		assert.True(s, l.Until.After(s.now()), "%+v", l)
		assert.Equal(s, s.RateLimit(""), l.Window)
	}
	return ""
}

// until returns for how long the last request was refused, and why.
func (s *script) until() string {
	require.NotNil(s, s.refused)
	assert.Equal(s, s.RateLimit(""), s.refused.Window)
	d := s.refused.RetryAt.Sub(s.now()).Round(time.Millisecond)
	return strings.TrimSpace(d.String() + " " + string(s.refused.Reason))
}

func (s *script) closed() string {
	s.ask(ratelimit.Request{})
	synctest.Wait()
	return s.until()
}

func (s *script) checkLog() string {
	for _, text := range s.texts {
		assert.Contains(s, s.log.String(), text)
	}
	assert.Equal(s, min(1, len(s.texts)), strings.Count(s.log.String(), "\n"), s.log.String())
	s.log.Reset()
	return ""
}

func (s *script) WaitStart(w ratelimit.Wait) {
	assert.LessOrEqual(s, w.Waiting, int(s.waiting.Load()))
	s.note("wait", w.Reason, w.Until, nil)
}

func (s *script) WaitDone(w ratelimit.Wait) {
	l := ratelimit.Lockout{Window: w.Window, Sent: w.Sent, Processes: w.Processes}
	s.note("done", w.Reason, s.start.Add(w.Duration), &l)
}

func (s *script) LimitClosed(l ratelimit.Lockout) { s.note("closed", l.Reason, l.Until, &l) }
func (s *script) LimitOpened(l ratelimit.Lockout) { s.note("opened", l.Reason, l.Until, nil) }

// note records what an observer is told, and what that says of the window.
func (s *script) note(what string, reason ratelimit.Reason, until time.Time, window *ratelimit.Lockout) {
	time.Sleep(s.holdUp)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := "?"
	if !until.IsZero() {
		at = until.Sub(s.start).Round(time.Millisecond).String()
	}
	s.heard = append(s.heard, fmt.Sprintf("%s %s %s", what, reason, at))
	if window != nil {
		s.last = *window
	}
}

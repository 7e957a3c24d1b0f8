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

// perform runs a subtest for each row, which is its name and its steps.
func perform(t *testing.T, rows [][2]string) {
	for _, row := range rows {
		t.Run(row[0], func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, r *virtualRedis) {
				s := &script{T: t, redis: r, start: time.Now(), processes: map[string]*process{}}
				s.ctx, s.leave = context.WithCancel(t.Context())
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
	redis     *virtualRedis
	start     time.Time
	ahead     atomic.Int64 // how far the wall clock is ahead
	ctx       context.Context
	leave     context.CancelFunc
	opts      []petstoreredis.Option // of processes from now on
	processes map[string]*process    // by their names
	log       bytes.Buffer
	saved     []string // fields of a pot and their values

	mu             sync.Mutex
	given, waiting atomic.Int64      // permits so far, and requests in Acquire
	refused        *ratelimit.Error  // the last one
	heard          []string          // what the observer was told
	lockout        ratelimit.Lockout // the last one that it was told
	holdUp         time.Duration     // by the observer
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

// step is, after a time such as +1m, and the name of a process, which is "a" by default, what
// happens: "ask 5" begins five requests that wait for long, "now 5" five that do not. A status ends
// the oldest request in flight or, after "last", the newest: "429 20s 60 5 1h" has Retry-After,
// limit, Remaining, and the time to Reset, by default the end of the minute. The number behind "="
// is how many permits were given in this step. Behind "closed" it is how long the key is closed for
// a request that does not wait, and why, behind "until" how long the last one that was refused has
// to wait.
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
	name := "a"
	if len(words[0]) == 1 {
		name, words = words[0], words[1:]
	}
	p := s.processes[name]
	if p == nil {
		opts := append(s.opts, petstoreredis.WithLogger(slog.New(slog.NewTextHandler(&s.log, nil))))
		p = &process{Limiter: s.redis.process(s.T, opts...)}
		p.SetClock(s.now)
		s.processes[name] = p
	}
	if words[0] == "last" {
		words = words[1:]
		slices.Reverse(p.permits)
		defer func() { slices.Reverse(p.permits) }()
	}
	got := s.do(p, words)
	synctest.Wait()
	got = cmp.Or(got, strconv.FormatInt(s.given.Load()-before, 10))
	assert.True(s, !check || want == got, "%s: %s", text, got)
}

// arguments returns the numbers and the times behind the first word; all others are mistakes,
// except behind words whose arguments are texts.
func (s *script) arguments(words []string) (numbers []int, times []time.Duration) {
	if slices.Contains([]string{"log", "error", "spoil"}, words[0]) {
		return nil, nil
	}
	for _, word := range words[1:] {
		if n, err := strconv.Atoi(word); err == nil {
			numbers = append(numbers, n)
		} else {
			d, err := time.ParseDuration(word)
			require.NoError(s, err, words)
			times = append(times, d)
		}
	}
	return numbers, times
}

func (s *script) do(p *process, words []string) (got string) {
	numbers, times := s.arguments(words)
	got = s.show(p, words)
	if got == "" && !s.startsRequests(p, words[0], numbers, times) && !s.changes(p, words, numbers, times) &&
		!s.onRedis(words, times) {
		s.release(p, words[0], numbers, times)
	}
	return got
}

// show returns what requests and their observer were told, and other results; empty for other
// words.
func (s *script) show(p *process, words []string) (got string) {
	switch words[0] {
	case "waiting":
		got = strconv.FormatInt(s.waiting.Load(), 10)
	case "heard":
		got, s.heard = cmp.Or(strings.Join(s.heard, "; "), "nothing"), nil
	case "window":
		w := p.RateLimit("")
		got = fmt.Sprint(w.Limit, " ", w.Remaining, " ", w.Reset.Sub(s.now()))
	case "sent": // requests that the last lockout reports, and of how many processes
		got = fmt.Sprint(s.lockout.Sent, " of ", s.lockout.Window.Limit, " by ", s.lockout.Processes)
	case "until":
		require.NotNil(s, s.refused)
		got = s.refused.RetryAt.Sub(s.now()).Round(time.Millisecond).String()
	case "closed":
		s.ask(p, 1, ratelimit.Request{})
		synctest.Wait()
		got = s.show(p, []string{"until"}) + " " + string(s.refused.Reason)
	case "ttl":
		got = s.redis.TTL(s.redis.Keys()[0]).String()
	case "flush":
		got = fmt.Sprint(p.Flush(s.ctx))
	}
	return got
}

// startsRequests starts requests if the word is one that does so.
func (s *script) startsRequests(p *process, what string, numbers []int, times []time.Duration) bool {
	n, r := 1, ratelimit.Request{MaxWait: 100 * time.Hour}
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
		r.NotBefore, r.MaxWait = s.now().Add(times[0]), times[1]
	default:
		return false
	}
	s.ask(p, n, r)
	return true
}

// changes changes something else than the requests in flight, or checks it, if the words say so.
func (s *script) changes(p *process, words []string, numbers []int, times []time.Duration) bool {
	switch words[0] {
	case "":
	case "leave": // all that wait
		s.leave()
		s.ctx, s.leave = context.WithCancel(s.Context())
	case "end": // contexts from now on
		s.ctx, s.leave = context.WithTimeout(s.Context(), times[0])
	case "observer": // takes so long
		s.holdUp = times[0]
	case "reopen":
		p.Reopen("")
	case "clock":
		s.ahead.Add(int64(times[0]))
	case "share":
		s.opts = append(s.opts, petstoreredis.WithShare(numbers[0]))
		clear(s.processes)
	case "log": // must be one line with these words
		for _, word := range words[1:] {
			assert.Contains(s, s.log.String(), word)
		}
		assert.Equal(s, min(1, len(words)-1), strings.Count(s.log.String(), "\n"), s.log.String())
		s.log.Reset()
	case "commands": // since the last time, at most
		assert.LessOrEqual(s, s.redis.evals.Swap(0), int64(numbers[0]), "commands")
	default:
		return false
	}
	return true
}

// onRedis lets something happen to Redis, if that is what the words say.
func (s *script) onRedis(words []string, times []time.Duration) bool {
	switch r := s.redis; words[0] {
	case "broken": // no connection
		r.broken.Store(true)
	case "silent": // no reply
		r.silent.Store(true)
	case "error": // to each command
		r.SetError(strings.Join(words[1:], " "))
	case "up":
		r.broken.Store(false)
		r.silent.Store(false)
		r.SetError("")
	case "slow":
		r.latency.Store(int64(times[0]))
	case "lost": // is the next reply
		r.link.lost.Store(true)
	case "save":
		keys, _ := r.HKeys(r.Keys()[0])
		for _, name := range keys {
			s.saved = append(s.saved, name, r.HGet(r.Keys()[0], name))
		}
	case "restore": // an older pot
		r.HSet(r.Keys()[0], s.saved...)
	case "empty":
		r.FlushAll()
	case "spoil": // a field
		r.HSet(r.Keys()[0], words[1], "junk")
	case "ahead":
		r.ahead.Add(int64(times[0]))
	default:
		return false
	}
	return true
}

// ask begins n requests together.
func (s *script) ask(p *process, n int, r ratelimit.Request) {
	r.Observer = s
	s.waiting.Add(int64(n))
	for range n {
		go func() {
			permit, err := p.Acquire(s.ctx, r)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.waiting.Add(-1)
			s.refused, _ = errors.AsType[*ratelimit.Error](err)
			if err == nil {
				s.given.Add(1)
				p.permits = append(p.permits, sent{permit, s.now()})
			}
		}()
	}
}

func (s *script) WaitStart(w ratelimit.Wait)      { s.note("wait", w.Reason, w.Until) }
func (s *script) WaitDone(w ratelimit.Wait)       { s.note("done", w.Reason, s.start.Add(w.Duration)) }
func (s *script) LimitClosed(l ratelimit.Lockout) { s.lockout = l; s.note("closed", l.Reason, l.Until) }
func (s *script) LimitOpened(l ratelimit.Lockout) { s.note("opened", l.Reason, l.Until) }

// note records what an observer is told.
func (s *script) note(what string, reason ratelimit.Reason, until time.Time) {
	time.Sleep(s.holdUp)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := "?"
	if !until.IsZero() {
		at = until.Sub(s.start).Round(time.Millisecond).String()
	}
	s.heard = append(s.heard, fmt.Sprintf("%s %s %s", what, reason, at))
}

// release ends the oldest request in flight: with a status, "spent", "abandoned" or "unsent".
func (s *script) release(p *process, what string, numbers []int, times []time.Duration) {
	require.NotEmpty(s, p.permits, what)
	now, oldest := s.now(), p.permits[0]
	p.permits = p.permits[1:]
	o := ratelimit.Outcome{Sent: oldest.at, Abandoned: what == "abandoned"}
	switch what {
	case "unsent":
		o.Sent = time.Time{}
	case "spent", "abandoned":
	default:
		status, err := strconv.Atoi(what)
		require.NoError(s, err, "no such word")
		o.StatusCode, o.Received, o.Date = status, now, now.Truncate(time.Second)
	}
	if o.StatusCode == http.StatusTooManyRequests && len(times) > 0 {
		o.RetryAfter, times = times[0], times[1:]
	}
	if len(numbers) > 0 {
		reset := now.Truncate(time.Minute).Add(time.Minute)
		if len(times) > 0 {
			reset = now.Add(times[0])
		}
		o.Window = ratelimit.Window{Limit: numbers[0], Remaining: numbers[1], Reset: reset}
	}
	oldest.Release(o)
}

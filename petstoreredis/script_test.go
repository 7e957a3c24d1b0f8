package petstoreredis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// SetClock replaces the wall clock, for tests with a machine that is suspended.
func (l *Limiter) SetClock(now func() time.Time) { l.now = now }

// TestScript sends commands to a pot in a Redis whose clock is under the test's control. A step is
// described at scripted.step.
func TestScript(t *testing.T) {
	for _, row := range []struct{ name, steps string }{
		// One permit is kept back for other programs.
		{"a quarter of the limit goes over to the next window", "open 60 15, +1m ask 20 = 14"},
		{"less than a quarter does not", "open 60 14, +1m ask 20 = 1"},
		{"an outcome of an old window changes nothing",
			"open 41 40, ask 2 = 2, keep, +1m ask 3 = 3, spent, left = 35"},
		{"a spent permit counts, whatever an earlier response shows",
			"open 11 10, ask 3 = 3, spent, spent, show 11 9, left = 8"},
		{"a first request without a response is followed by another one after a second",
			"ask 5 = 1, silent, +999ms ask 5 = 0, +1ms ask 5 = 1"},
		{"after a lockout one request goes ahead, and another one after ten seconds",
			"open 41 40, ask 1 = 1, reject 41 39, +19.999s ask 5 = 0, +1ms ask 5 = 1, +9.999s ask 5 = 0, +1ms ask 5 = 1"},
		{"a process gets its share in a second, twice that in two, then twice its share of what is left",
			"open 100 99, other 10 = 10, other 10 = 10, ask 99 = 33, +1s ask 99 = 34, +1s ask 99 = 8"},
		{"a process that asks no more counts half as much in each window",
			"open 61 60, other 1 = 1, other 1 = 1, other 1 = 1, +1m ask 1 = 1, processes = 4, " +
				"+1m ask 1 = 1, processes = 2, +1m ask 1 = 1, processes = 1"},
		// 20 in 30 s, so probably 1.5 × 20 × 10 s/40 s = 7.5 more
		{"what other programs have probably sent is kept back",
			"open 60 59, +30s ask 1 = 1, show 60 38, +10s ask 5 = 5, left = 25"},
		{"background requests leave a tenth, if others were there",
			"open 100 99, +3s background 100 = 89, background 100 = 0"},
		{"background requests that are alone leave nothing",
			"background 1 = 1, show 100 99, +3s background 100 = 99"},
		{"a window of a day that is used up lasts to its end",
			"ask 1 = 1, day 1000 0, +59m ask 1 = 0, why = 1, wait = 60000, +1m ask 1 = 1"},
		{"permits that die with a process come back in a window of a day",
			"ask 1 = 1, day 1000 500, ask 400 = 400, left = 99, +1m other 0, left = 1"},
		{"responses are awaited for two seconds, and then the end of the window",
			"open 4 3, +3s ask 3 = 3, +1.999s ask 1 = 0, why = 3, +1ms ask 1 = 0, why = 0"},
		{"a pot that nobody reached for a second is replaced by a process that was alone",
			"open 60 59, +1.001s alone, left = 0"},
		{"a pot of the future is replaced", "open 60 59, -1.001s other 0, left = 1"},
		{"a clock that goes forward ends the window", "open 60 10, +24h ask 5 = 1"},
		{"a pot that is older than what a process knows begins after 1500 ms",
			"open 60 59, older, +1.499s ask 1 = 0, +1ms ask 1 = 1"},
		{"a new pot believes that a window is used up, and that the key is closed",
			"know 60 0, +1m ask 1 = 0, why = 2, wait = 3540000"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := miniredis.RunT(t)
			rdb := redis.NewClient(&redis.Options{Addr: r.Addr()})
			t.Cleanup(func() { _ = rdb.Close() })
			s := &scripted{T: t, redis: r, limiter: &Limiter{rdb: rdb}, now: time.Unix(999_999_960, 0)}
			for step := range strings.SplitSeq(row.steps, ", ") {
				s.step(step)
			}
		})
	}
}

// scripted is the processes that share a pot.
type scripted struct {
	*testing.T
	redis          *miniredis.Miniredis
	limiter        *Limiter
	now            time.Time
	last           reply
	permit         outcome // of the permit that outcomes are about
	epoch, granted int64   // of the process that ask stands for
}

// step is, after a time such as +1m, a command or a check of the last reply. Commands ask for permits,
// as a process that asked before, as another one, or for background requests; come from a process
// that was alone, or knows a later pot ("older"); or report an outcome of the last permit, or of the
// one at "keep". The number behind "=" must be in the reply.
func (s *scripted) step(text string) {
	s.Helper()
	command, want, check := strings.Cut(text, " = ")
	words := strings.Fields(command)
	if d, err := time.ParseDuration(words[0]); err == nil {
		s.now, words = s.now.Add(d), words[1:]
	}
	var numbers [2]int
	for i, word := range words[1:] {
		numbers[i], _ = strconv.Atoi(word)
	}
	s.do(words[0], numbers)
	if check {
		assert.Equal(s, want, fmt.Sprint(map[string]any{
			"ask": s.last.Granted[0], "other": s.last.Granted[0], "background": s.last.Granted[1], "left": s.last.Left,
			"why": s.last.Why, "wait": s.last.Wait, "processes": s.last.Processes,
		}[words[0]]), text)
	}
}

func (s *scripted) do(what string, numbers [2]int) {
	s.Helper()
	switch n := numbers[0]; what {
	case "open": // a window, by a first request and its response
		s.step("ask 1 = 1")
		s.send(command{Outcomes: []outcome{s.outcome("show", numbers)}})
	case "ask":
		s.send(command{Want: [2]int{n}, Epoch: s.epoch, Granted: s.granted})
		if s.epoch != s.last.Epoch {
			s.epoch, s.granted = s.last.Epoch, 0
		}
		s.granted += int64(s.last.Granted[0])
	case "other":
		s.send(command{Want: [2]int{n}})
	case "background":
		s.send(command{Want: [2]int{0, n}})
	case "alone":
		s.send(command{Number: s.last.Number, Fallback: true})
	case "older":
		s.send(command{Number: s.last.Number + 1})
	case "keep":
		s.permit = outcome{Number: s.last.Number, Epoch: s.last.Epoch}
	case "left", "why", "wait", "processes":
	default:
		s.send(command{Outcomes: []outcome{s.outcome(what, numbers)}})
	}
}

// outcome returns an outcome. Windows end at the next full minute, or in an hour ("day").
func (s *scripted) outcome(kind string, window [2]int) outcome {
	end := s.now.Truncate(time.Minute).Add(time.Minute)
	o := s.permit
	if o.Number == 0 {
		o.Number, o.Epoch = s.last.Number, s.last.Epoch
	}
	switch kind {
	case "spent", "silent": // without headers; without a response
		o.Spent, o.Silent = true, kind == "silent"
		return o
	case "reject":
		o.ClosedIn = 20_000
	case "know": // what a process knows, and no outcome of a permit
		o.Number, o.Epoch, o.ClosedIn, o.Reason = 0, 0, 3_600_000, 2
	}
	o.Limit, o.Remaining, o.Reset, o.EndsIn = window[0], window[1], end.Unix(), end.Sub(s.now).Milliseconds()
	if kind == "day" {
		o.EndsIn = 3_600_000
	}
	return o
}

// send sends a command.
func (s *scripted) send(o command) {
	s.Helper()
	if o.Outcomes == nil {
		o.Outcomes = []outcome{} // the script wants a list
	}
	var err error
	s.redis.SetTime(s.now)
	s.last, err = s.limiter.run(s.Context(), "key", &o)
	require.NoError(s, err)
}

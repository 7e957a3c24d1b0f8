package ratelimit_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/internal/scripttest"
	"github.com/petstore/petstore-go/ratelimit"
)

// perform runs a subtest for each row, which has a name and a script. Package scripttest explains
// the words of scripts, except those below.
func perform(t *testing.T, rows [][2]string) {
	for _, row := range rows {
		t.Run(row[0], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripttest.Script{T: t}
				s.Word("processes", "makes a limiter with this number of Processes", func() { begin(s, s.Numbers[0]) })
				s.Word("dateless", "later responses have no Date", func() { s.Dateless = true })
				s.Word("free", "ends all requests in flight, as unsent", func() { free(s) })
				s.Word("opens", "is like closed; the key must open at the time shown", func() { opens(s) })
				begin(s, 0)
				s.Run(row[1] + ", leave, free")
			})
		})
	}
}

// begin makes a limiter that knows nothing but the number of processes.
func begin(s *scripttest.Script, processes int) {
	l := ratelimit.New(ratelimit.Processes(processes))
	l.SetClock(s.Now)
	s.Process = &scripttest.Process{Limiter: l}
	s.Cleanup(func() { assert.True(s.T, s.Failed() || l.Idle(), "requests or a timer") })
}

func free(s *scripttest.Script) {
	for len(s.Permits) > 0 {
		s.Release(ratelimit.Outcome{})
		s.Settle() // requests that got a permit meanwhile
	}
}

func opens(s *scripttest.Script) {
	s.Do("closed")
	at, permits := s.Refused.RetryAt, len(s.Permits)
	s.Do("ask")
	s.Sleep(at.Sub(s.Now()) - time.Nanosecond)
	assert.Len(s, s.Permits, permits, "opens too early")
	s.Sleep(time.Nanosecond)
	assert.Len(s, s.Permits, permits+1, "opens too late")
}

func TestCommon(t *testing.T) { perform(t, scripttest.Common) }

// TestRules has rows for each rule of README.md, by its number. Package scripttest explains steps.
func TestRules(t *testing.T) {
	perform(t, [][2]string{
		{"1 requests in flight are spent, unless they are not sent",
			"processes 1, ask = 1, 200 6 5, ask 9 = 5, unsent = 1, lost = 0, 200 6 4 = 0"},
		{"1 a lost request is spent until one that was sent a second later has a response",
			"processes 1, get 5 4, ask, lost, +999ms get 5 2, ask 9 = 1, leave, unsent, +1ms ask = 1, 200 5 1, ask 9 = 1"},
		{"1 of many lost first requests, the last 16 are spent",
			"processes 1, " + strings.Repeat("ask, lost, ", 16) + "+500ms ask, lost, get 60 59, ask 99 = 43, " +
				"leave, free, +501ms get 60 58, ask 99 = 57"},
		{"1 a lost request is spent in the next window, too",
			"processes 1, get 5 4 10s, +10.9s ask 2 = 2, lost, +100ms 200 5 4 60s, ask 9 = 3"},
		{"1 all lost requests are spent, up to the limit", "processes 1, get 60 59, " + strings.Repeat("ask, lost, ", 20) + "ask 99 = 39"},
		{"2 the lowest of those in flight with a later request counts",
			"processes 1, get 99 41 60s, ask 3, +100ms 200 99 30 60s, ask, +100ms 200 99 45 61s, 200 99 40 61s, last 200 99 60 61s, ask 99 = 33"},
		{"2 an old window changes nothing", "get 60 59 50s, ask 2, last 200 600 100 5h, 200 60 9 50s, ask 99 = 6"},
		{"3 Reset is compared with Date, plus a second", "+20.5s get 60 0, opens = 41s minute"},
		{"3 a Reset is that of a minute up to 62 s after Date", "get 60 0 62s, opens = 1m0s minute"},
		{"3 a Reset is that of a day from 63 s after Date on", "get 60 0 63s, opens = 1m4s day"},
		{"3 what was left may still be sent, and then a probe", "processes 1, get 31 30, +1m ask 99 = 31"},
		{"3 a window whose Reset moves slides", "get 31 30 60s, +10s get 31 0 51s, opens = 52s minute"},
		{"3 a day is over after a day", "get 60 0 24h, opens = 24h0m0s day"},
		{"3 a Reset after more than a day is replaced", "get 60 0 25h, opens = 1m0s minute"},
		{"3 a day ends at Reset, also in its last minute", "get 60 9 90s, +40s get 60 0 50s, opens = 51s minute"},
		{"3 a late response does not end a window that slides earlier",
			"processes 1, get 60 59 30s, ask, +1s get 60 5 40s, 200 60 0 20s, opens = 41s minute"},
		{"3 a Reset in the past is replaced, and stays so", "get 60 59 -1h, +10s get 60 0 -1h, opens = 50s minute"},
		{"3 without a Date, the local clock counts", "dateless, +20.5s get 60 0, opens = 40.5s minute"},
		{"3 without a Date, hours are those of a day", "dateless, get 60 0 1h, opens = 1h0m1s day"},
		{"3 without a Date, minutes are those of a wrong clock", "dateless, get 60 0 20m, opens = 1m0s minute"},
		{"4 a probe when nothing is known", "ask 5 = 1, +999ms = 0, +1ms = 1, +1s = 1"},
		{"4 a probe after a window that was used up", "get 60 0, ask 5 = 0, +59.999s = 0, +1ms = 1, +999ms = 0, +1ms = 1"},
		{"4 the others wait for each probe", "ask 9 = 1, +1s = 1, last unsent = 0"},
		{"4 a probe without a response opens nothing", "ask, 429 1s 60 30, +1s ask 5 = 1, lost = 1"},
		{"5 not used up, and no Retry-After", "ask, 429 0s 999 5 50s, opens = 51s minute"},
		{"5 the day is used up", "ask, 429 5s 999 0 5h, opens = 5h0m0s day"},
		{"5 Retry-After and Reset are both rounded", "ask, 429 62s 999 0 1m, opens = 1m2s minute"},
		{"5 a Reset that has just passed is no sign of a ban", "dateless, ask, 429 3s 10 0 0s, opens = 3s minute"},
		{"5 Reset cannot be true", "ask, 429 0s 999 0 25h, opens = 1m0s minute"},
		{"5 a ban, although Reset is past", "ask, 429 70s 999 0 -1h, opens = 1m10s ban"},
		{"5 a shorter 429 does not shorten a lockout", "get 60 59, ask 2, 429 20s 60 9, 429 1s 60 9, opens = 20s minute"},
		{"5 a late 429 is no lockout of its own", "get 60 59, ask 2, 429 1s 60 9, +1s ask, 429 1s 60 9, 200 60 8, +1s ask 9 = 2"},
		{"5 in a sliding window, Processes alone makes no lockout longer",
			"processes 2, get 60 59 60s, +2s get 60 58 61s, ask, 429 1s 60 50, opens = 1s minute"},
		{"5 in a sliding window that others use, each lasts for 90 seconds",
			"get 60 59 60s, +2s ask, 429 1s 60 0 60s, opens = 1m30s minute"},
		{"6 a sixteenth of what is left may be in flight, and twice that after two responses",
			"get 999 800, ask 999 = 50, 200 999 799 = 0, 200 999 798 = 51"},
		{"6 a foreign request sets the part back to 1/16, until the third window without one",
			"get 999 998, get 999 960, +1m get 999 998, get 999 997, ask 999 = 62, leave, free, +1m get 999 998, get 999 997, " +
				"get 999 996, ask 999 = 62, leave, free, +1m get 999 998, get 999 997, get 999 996, ask 999 = 124"},
		{"6 a first 429 is no sign of others", "ask, 429 1s 99 0 1s, +1s get 99 98, get 99 97, get 99 96, ask 99 = 12"},
		{"6 a 429 of a window that others used up is a sign of them",
			"get 99 98, get 99 97, get 99 96, get 99 95, get 99 94, ask, 429 1m 99 0 1s, +1m get 99 98, ask 99 = 6"},
		{"6 at first, only more than a quarter of the limit is a sign of others", "get 12 7, ask 9, +9s = 3"},
		{"6 a 429 without headers is no sign of others",
			"get 99 98, get 99 97, get 99 96, get 99 95, get 99 94, ask, 429 1s, +2s get 99 93, ask 99 = 23"},
		{"6 a ban is no sign of others", "get 99 98, get 99 97, get 99 96, ask, 429 5m 99 0, +5m get 99 98, ask 99 = 12"},
		{"6 the foreign requests in flight may double, and fall by an eighth",
			"get 999 998, ask, +100ms 200 999 896, ask 999 = 43, 200 999 895 = 2"},
		{"6 the foreign requests in flight fall by one at least",
			"get 60 59, ask, +100ms 200 60 51, get 60 50, get 60 49, get 60 48, ask 9 = 4"},
		{"6 Processes replaces the part by 1/(2n)", "processes 4, get 160 80, ask 99 = 10"},
		{"6 if Processes is not positive, six may be in flight",
			"processes -4, get 160 80, ask 99 = 6, 429 9s 160 70, sent = 1 of 160 by 0"},
		{"7 a slow request keeps its reservation, and others may be in flight",
			"get 24 23, ask 99 = 5, +1s = 5, +1s = 5, +1s = 5, +1s = 3"},
		{"7 each request becomes slow after a second", "get 24 23, ask 4 = 4, +500ms ask 9 = 1, +500ms = 4"},
		{"8 without headers two are in flight, also after a lost one", "get, ask, lost, ask 9 = 2, +1s = 2"},
		{"8 the headers of a 401 do not count", "ask, 401 60 59, window = [], ask 9 = 2"},
		{"8 without headers one is in flight after the first 429", "ask, 429 1s, ask 9, +1s = 1, 200 = 1, +1s = 1"},
		{"9 lockouts after Reopen go on to last longer", "ask, 429 10ms 999 5 1h, +1s ask, 429 10ms 999 5 1h, +2s ask, " +
			"429 1h 999 5 1h, reopen, ask, 429 10ms 999 5 1h, opens = 4s minute"},
		{"9 Reopen lets one go of those that are left for others", "get 60 59, +1s get 60 4, ask 9 = 0, reopen = 1"},
		{"9 Reopen has no effect while nothing is known", "reopen, ask 9 = 1, +1s = 1"},
		{"9 Reopen has no effect on an open key", "get 60 59, reopen, ask 9 = 6"},
		{"10 room is left for 1.5 times what others sent in as much time",
			"get 60 59, +20s get 60 20, +5s now = 1, unsent, +2s now = 0"},
		{"10 room is left for at most 1.5 times what others sent in the window", "get 60 59, +20s get 60 30, +30s now = 0"},
		{"10 no room is left while others send nothing",
			"get 60 59, +20s get 60 12, +1s get 60 11, +1s get 60 10, +2s now = 1"},
		{"10 a sixteenth, eight at most, is left for processes that start",
			"get 320 319, get 320 10, now = 1, 200 320 9, now = 0"},
		{"10 a sixteenth is left in a window that slides, also if this is more",
			"get 320 319 60s, get 320 22 61s, now = 1, 200 320 21 61s, now = 0"},
		{"10 one is left for each of the other processes", "processes 12, get 60 12, now = 1, 200 60 11, now = 0"},
		{"11 background requests leave a tenth, but nothing if nobody asked for two minutes",
			"get 999 101 5h, +119s background 3 = 2, leave, +1s background = 1"},
		{"12 refused at once after a restart", "get 12 9, ask 9 = 2, +4s = 7, now, until = 56s minute"},
		{"12 the windows of the requests ahead count", "get 60 0 40s, ask 60, now, until = 1m41s minute"},
		{"12 requests in flight do not count for the next window",
			"processes 1, get 60 30, ask 30, 200 60 0, ask 40, now, until = 1m0s minute"},
		{"12 whatever a request waits for, it is refused a second after MaxWait", "ask, 429 1s, +1s ask, pause 0s 2s, " +
			"+3s, heard = closed minute 1s; wait response ?; done response 3s"},
		{"12 a lockout of the same limit that lasts longer than before",
			"get 60 59, get 60 59, ask 2 = 2, 429 20s 60 5, pause 0s 30s = 0, 429 50s 60 5, until = 50s minute"},
		{"12 a window that ends later than before, while the first request waits for a response",
			"processes 1, get 10 9 20s, ask 4, last 200 10 5 20s, ask 2 = 2, pause 0s 30s 4, 200 10 4 45s = 0, until = 46s minute"},
		{"12 a window that others use up", "get 60 9, ask 2, pause 0s 30s = 0, 200 60 0, until = 1m0s minute"},
		{"12 a ban is the reason, also of a later window", "ask, 429 5m 60 30, ask 120, now, until = 6m0s ban"},
		{"12 MaxWait 0 is for a free permit of the first window, too", "ask, now 3 = 0, 200 3 2 = 1, unsent = 1, unsent = 0"},
		{"12 no limit while responses may show room", "processes 1, get 10 9, ask 4, last 200 10 5, ask 2, now = 0, 200 10 8 = 1"},
		{"12 no response is hoped for if others use the key",
			"processes 2, get 40 39, ask 9 = 9, last 200 40 8, now, until = 1m0s minute"},
		{"12 a context that ends with the wait", "get 60 0, ask, clock 2m, leave = 0"},
		{"13 the end of a window comes while the machine is suspended", "get 60 0 30m, ask, clock 1h, +2m = 1"},
		{"13 a clock set back by a second changes nothing", "get 60 59, ask, clock -1s, ask, last unsent, unsent, ask 9 = 6"},
		{"13 a clock that is set back by more makes it forget everything", "ask, 429 1h, clock -1.001s, now = 1"},
	})
}

// TestReports checks what an observer is told. The times count from the start of the script.
func TestReports(t *testing.T) {
	perform(t, [][2]string{
		{"a wait for foreground requests, and none of one that passes it", "get 60 9, background, ask = 1, heard = wait background 1m0s"},
		{"anew after a clock set back", "ask, 429 5m, clock -2s, ask, 429 2m, heard = closed ban 5m0s; closed ban 1m58s"},
		{"a lockout with the requests of this process that the window has counted", "processes 3, get 60 59, get 60 58, ask 2, " +
			"lost, 429 9s 60 50, sent = 3 of 60 by 3, free, +1m get 60 59, ask 2, 200 60 58, 429 9s 60 50, sent = 2 of 60 by 3"},
	})
}

package ratelimit

import "testing"

// TestRules has rows for each rule of README.md, by its number. script_test.go explains the steps.
func TestRules(t *testing.T) {
	perform(t, [][2]string{
		{"1 requests in flight are spent, unless they are not sent",
			"told 1, ask 1 = 1, 200 6 5, ask 9 = 5, unsent = 1, lost = 0, 200 6 4 = 0"},
		{"1 a lost request is spent until one that was sent a second later has a response",
			"told 1, ask 1, 200 5 4, ask 1, lost, +999ms ask 1, 200 5 2, ask 9 = 1, leave, unsent, +1ms ask 1 = 1, " +
				"200 5 1, ask 9 = 1"},
		{"1 in the next window, too",
			"told 1, ask 1, 200 5 4 10s, +10.9s ask 2 = 2, lost, +100ms 200 5 4 60s, ask 9 = 3"},
		{"2 the response to an earlier request raises nothing",
			"told 1, ask 1, 200 11 10, ask 1, +1ms ask 1, last 200 11 8, 200 11 9, ask 99 = 8"},
		{"2 that to a later one does",
			"told 1, ask 1, 200 9 8 60s, ask 1, 200 9 7 60s, +1s ask 1, 200 9 8 61s, ask 99 = 8"},
		{"3 Reset is compared with Date, plus a second", "+20.5s ask 1, 200 60 0, closed = 41s minute"},
		{"3 a minute is over a minute after it was open", "ask 1, 200 60 0 61s, closed = 1m0s minute"},
		{"3 what was left may still be sent, and then a probe", "told 1, ask 1, 200 31 30, +1m ask 99 = 31"},
		{"3 a window whose Reset moves slides", "ask 1, 200 31 30 60s, +10s ask 1, 200 31 0 51s, closed = 52s minute"},
		{"3 a Reset in the past is replaced", "ask 1, 200 60 0 -1h, closed = 1m0s minute"},
		{"3 a Reset after more than a day is replaced", "ask 1, 200 60 0 25h, closed = 1m0s minute"},
		{"3 what replaces it stays", "ask 1, 200 60 59 -1h, +10s ask 1, 200 60 0 -1h, closed = 50s minute"},
		{"3 a window of 90 seconds is none of a minute", "ask 1, 200 60 0 90s, closed = 1m31s day"},
		{"3 a longer window is that of the day", "ask 1, 200 60 0 5h, closed = 5h0m1s day"},
		{"3 without a Date, the local clock counts", "dateless, +20.5s ask 1, 200 60 0, closed = 40.5s minute"},
		{"3 without a Date, hours are those of a day", "dateless, ask 1, 200 60 0 5h, closed = 5h0m1s day"},
		{"3 and minutes are those of a wrong clock", "dateless, ask 1, 200 60 0 20m, closed = 1m0s minute"},
		{"4 a probe when nothing is known", "ask 5 = 1, +999ms = 0, +1ms = 1, +1s = 1"},
		{"4 a probe when a window is over and nothing was left",
			"ask 1, 200 60 0, ask 5 = 0, +59.999s = 0, +1ms = 1, +999ms = 0, +1ms = 1"},
		{"4 a probe after a 429, and another one after ten seconds",
			"ask 1, 429 20s 60 30, ask 5, +19.999s = 0, +1ms = 1, +9.999s = 0, +1ms = 1"},
		{"4 the others wait for each probe", "ask 9 = 1, +1s = 1, last unsent = 0"},
		{"4 a probe without a response opens nothing", "ask 1, 429 1s 60 30, +1s ask 5 = 1, lost = 1"},
		{"5 used up, and Reset is later", "ask 1, 429 20s 999 0 50s, closed = 50s minute"},
		{"5 not used up", "ask 1, 429 20s 999 5 50s, closed = 20s minute"},
		{"5 not used up, and no Retry-After", "ask 1, 429 0s 999 5 50s, closed = 51s minute"},
		{"5 the day is used up", "ask 1, 429 5s 999 0 5h, closed = 5h0m0s day"},
		{"5 something short while the day has room", "ask 1, 429 5s 999 500 10h, closed = 5s minute"},
		{"5 a ban", "ask 1, 429 5m 999 0 50s, closed = 5m0s ban"},
		{"5 Retry-After and Reset are both rounded", "ask 1, 429 22s 999 0 20s, closed = 22s minute"},
		{"5 Reset cannot be true", "ask 1, 429 0s 999 0 25h, closed = 1m0s minute"},
		{"5 Reset is past, and Retry-After is usable", "ask 1, 429 70s 999 0 -1h, closed = 1m10s ban"},
		{"5 lockouts in a row last longer",
			"ask 1, 429 10ms 999 5 1h, closed = 10ms minute, 429 10ms 999 5 1h, closed = 1s minute, " +
				"429 10ms 999 5 1h, closed = 2s minute, 429 10ms 999 5 1h, closed = 4s minute, 429 10ms 999 5 1h, " +
				"closed = 8s minute, 429 10ms, closed = 16s minute, 429 10ms, closed = 32s minute, 429 10ms, " +
				"closed = 1m0s minute, 429 10ms, closed = 1m0s minute, 200 999 998 1h, ask 1, 429 10ms 999 5 1h, " +
				"closed = 10ms minute"},
		{"5 those without headers are twice as long",
			"ask 1, 429, closed = 1m0s minute, 429, closed = 2m0s minute, 429, closed = 4m0s minute, 429, " +
				"closed = 8m0s minute, 429, closed = 16m0s minute, 429, closed = 16m0s minute"},
		{"5 several 429s are one lockout, and an early success does not end it",
			"ask 1, 200 60 59, ask 3 = 3, 429 1s 60 9, 429 1s 60 9, closed = 1s minute, 200 60 8, " +
				"last 429 1ms 60 9, closed = 1s minute"},
		{"5 a shorter 429 does not shorten a lockout",
			"ask 1, 200 60 59, ask 2 = 2, 429 20s 60 9, 429 1s 60 9, closed = 20s minute"},
		{"5 in a sliding window that others use, each lasts for 90 seconds",
			"ask 1, 200 60 59 60s, +2s ask 1, 200 60 40 60s, ask 1, 429 1s 60 0 1s, closed = 1m30s minute"},
		{"6 a sixteenth of what is left may be in flight", "ask 1, 200 999 800, ask 999 = 50"},
		{"6 every two responses without a foreign request double it",
			"ask 1, 200 999 800, ask 999 = 50, 200 999 799 = 0, 200 999 798 = 51"},
		{"6 a foreign request sets it back, until the third window without one",
			"ask 1, 200 999 998, ask 1, 200 999 960, +1m ask 1, 200 999 998, ask 1, 200 999 997, ask 999 = 62, " +
				"leave, free, +1m ask 1, 200 999 998, ask 1, 200 999 997, ask 1, 200 999 996, ask 999 = 62, leave, " +
				"free, +1m ask 1, 200 999 998, ask 1, 200 999 997, ask 1, 200 999 996, ask 999 = 124"},
		{"6 a first 429 is no sign of others",
			"ask 1, 429 1s 999 0 1s, +1s ask 1, 200 999 998, ask 1, 200 999 997, ask 1, 200 999 996, ask 999 = 124"},
		{"6 fewer may be while others have many in flight", "ask 1, 200 60 59, ask 1, +100ms 200 60 40, ask 9 = 1"},
		{"6 a ban is no sign of others",
			"ask 1, 200 999 998, ask 1, 200 999 997, ask 1, 200 999 996, ask 1, 429 5m 999 0, +5m ask 1, " +
				"200 999 998, ask 999 = 124"},
		{"6 the foreign requests in flight may double, and fall by an eighth",
			"ask 1, 200 999 998, ask 1, +100ms 200 999 896, ask 999 = 43, 200 999 895 = 2"},
		{"6 six may be in flight while there is plenty", "ask 1, 200 60 59, ask 9 = 6"},
		{"6 Processes replaces these parts", "told 4, ask 1, 200 160 80, ask 99 = 10"},
		{"6 but not if it is not positive", "told -4, ask 1, 200 160 80, ask 99 = 6"},
		{"7 a slow request keeps its reservation only",
			"ask 1, 200 24 23, ask 99 = 5, +1s = 5, +1s = 5, +1s = 5, +1s = 3"},
		{"7 each becomes slow after a second", "ask 1, 200 24 23, ask 4 = 4, +500ms ask 9 = 1, +500ms = 4"},
		{"8 two are in flight without headers", "ask 1, 200, ask 9 = 2, +1s = 2"},
		{"8 also after a lost one", "ask 1, 200, ask 1, lost, ask 9 = 2"},
		{"8 a 401 has none", "ask 1, 401 60 59, window = [], ask 9 = 2"},
		{"8 one is after the first 429", "ask 1, 429 1s, ask 9, +1s = 1, 200 = 1, +1s = 1"},
		{"9 Reopen lets one go after a 429", "ask 1, 429 10m, ask 3 = 0, reopen = 1, 200 60 50 = 2"},
		{"9 Reopen lets one go in a window that is used up", "ask 1, 200 60 0, ask 3 = 0, reopen = 1, 200 60 50 = 2"},
		{"9 lockouts after Reopen go on to last longer",
			"ask 1, 429 10ms 999 5 1h, +1s ask 1, 429 10ms 999 5 1h, +2s ask 1, 429 1h 999 5 1h, reopen, ask 1, " +
				"429 10ms 999 5 1h, closed = 4s minute"},
		{"9 Reopen has no effect on an open key", "ask 1, 200 60 59, reopen, ask 9 = 6"},
		{"10 what others sent in the same time before, and half as many more",
			"ask 1, 200 60 59, +20s ask 1, 200 60 20, +5s now 1 = 1, unsent, +2s now 1 = 0"},
		{"10 but not in a window that slides", "ask 1, 200 60 59 60s, +20s ask 1, 200 60 20 60s, +10s now 1 = 1"},
		{"10 a sixteenth for processes that start",
			"ask 1, 200 60 59, ask 1, 200 60 5, now 1 = 1, 200 60 4, now 1 = 0"},
		{"10 eight at most", "ask 1, 200 320 319, ask 1, 200 320 10, now 1 = 1, 200 320 9, now 1 = 0"},
		{"10 one for each of the other processes", "told 12, ask 1, 200 60 12, now 1 = 1, 200 60 11, now 1 = 0"},
		{"11 background requests leave a tenth", "ask 1, 200 999 101 5h, background 3 = 2"},
		{"11 they leave nothing if nobody asked for two minutes",
			"ask 1, 200 999 50 5h, +119s background 1 = 0, leave, +1s background 1 = 1"},
		{"12 refused at once after a restart", "ask 1, 200 12 9, ask 9 = 2, +4s = 7, now 1, until = 56s minute"},
		{"12 the windows of the requests before count", "ask 1, 200 60 0 40s, ask 60, now 1, until = 1m41s minute"},
		{"12 but one after a lockout, which may be about to end",
			"ask 1, 429 20s 60 30, ask 60, now 1, until = 20s minute, ask 60, now 1, until = 1m20s minute"},
		{"12 a limit that lasts longer than before",
			"ask 1, 200 60 59, ask 1, 200 60 59, ask 2 = 2, 200 60 0 20s, pause 0s 30s = 0, 429 50s 60 0 20s, " +
				"until = 50s ban"},
		{"12 a window that others use up", "ask 1, 200 60 9, ask 2, pause 0s 30s = 0, 200 60 0, until = 1m0s minute"},
		{"12 a ban is the reason, also of a later window", "ask 1, 429 5m 60 30, ask 120, now 1, until = 6m0s ban"},
		{"12 a pause that ends in a lockout",
			"ask 1, 200 60 59, ask 1, pause 30s 35s, +20s 429 20s 60 5, +10s = 0, until = 10s minute"},
		{"12 a deadline before the end of the window", "ask 1, 200 60 0, end 10s, ask 1, until = 1m0s minute"},
		{"12 in the first window, too", "ask 1, now 3 = 0, 200 3 2 = 1, unsent = 1, unsent = 0"},
		{"12 no limit is known while responses may show room",
			"told 1, ask 1, 200 10 9, ask 4 = 4, last 200 10 5, ask 2 = 2, now 1 = 0, 200 10 8 = 1"},
		{"12 nothing if the context ends", "ask 1, 200 60 59, pause 9s 1m, leave, until = ?"},
		{"12 a pause that is too long is refused at once", "ask 1, 200 60 59, pause 30s 29s, until = 30s"},
		{"12 a context that ends with the wait", "ask 1, 200 60 0, ask 1, clock 2m, leave = 0"},
		{"13 the end of a window comes while the machine is suspended",
			"ask 1, 200 60 0 30m, ask 1, clock 1h, +2m = 1"},
		{"13 the end of a pause, too", "ask 1, 200 60 59, pause 30m 1h, clock 1h, +2m = 1"},
		{"13 a clock that is set back by a second changes nothing",
			"ask 1, 429 1h, clock -1s, now 1 = 0, closed = 1h0m1s ban"},
		{"13 by more, everything is forgotten", "ask 1, 429 1h, clock -1.001s, now 1 = 1"},
	})
}

// TestReports checks what an observer is told. The times count from the start of the script.
func TestReports(t *testing.T) {
	perform(t, [][2]string{
		{"each lockout once, another limit that lasts longer, and the end",
			"ask 1, 200 60 59, ask 4 = 4, 429 10s 60 50, 429 20s 60 50, 429 5m 60 50, " +
				"heard = closed minute 10s; closed ban 5m0s, +5m 200 60 59, heard = nothing, ask 1, 200 60 59, " +
				"heard = opened ban 5m0s"},
		{"the last end of a lockout that the same limit makes longer",
			"ask 1, 200 60 59, ask 2, 429 10s 60 50, 429 20s 60 50, +20s ask 1, 200 60 59, " +
				"heard = closed minute 10s; opened minute 20s"},
		{"no other limit that ends earlier",
			"ask 1, 200 99 98, ask 2, 429 5h 99 50, 200 99 0 1h, heard = closed ban 5h0m0s"},
		{"a day that is used up, and its end",
			"ask 1, 200 60 0 5h, heard = closed day 5h0m1s, ask 1, +5h1s = 1, 200 60 59, " +
				"heard = wait day 5h0m1s; done day 5h0m1s; opened day 5h0m1s"},
		{"a minute only if a request is refused for it, once",
			"ask 1, 200 60 0 40s, heard = nothing, now 1, heard = closed minute 41s, now 1, heard = nothing"},
		{"not if a request leaves", "ask 1, 200 60 0, ask 1, leave, heard = wait minute 1m0s; done minute 0s"},
		{"each one anew after the clock was set back",
			"ask 1, 429 1h, clock -2s, ask 1, 429 20m, heard = closed ban 1h0m0s; closed ban 19m58s"},
		{"nothing if a request is refused because no response comes",
			"ask 1, now 1, +1s, heard = wait response ?; done response 1s"},
		{"a pause, and a lockout that ends earlier",
			"ask 1, 200 60 59, ask 1, pause 9s 1m, 429 20s 60 9, pause 30s 1m, " +
				"heard = wait backoff 9s; closed minute 20s; wait minute 30s"},
		{"a wait of a background request for the reserve",
			"ask 1, 200 60 9, background 1, heard = wait background 1m0s"},
		{"a lockout with the requests of this process that the window has counted",
			"told 3, ask 1, 200 60 59, ask 1, 200 60 58, ask 2, lost, 429 9s 60 50, sent = 3 of 60 by 3, free, " +
				"+1m ask 1, 200 60 59, ask 2, 200 60 58, 429 9s 60 50, sent = 2 of 60 by 3"},
		{"the end of a wait with the same", "told 3, ask 1, 200 60 59, ask 1, 200 60 0, ask 1, +1m, sent = 2 of 60 by 3"},
		{"no end by a 401", "ask 1, 429 1s, +1s ask 1, 401, heard = closed minute 1s"},
		{"the success after Reopen",
			"ask 2, 429 10m, reopen = 1, 200 60 59, " +
				"heard = wait response ?; closed ban 10m0s; done response 0s; opened ban 0s"},
	})
}

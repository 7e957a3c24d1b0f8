package scripttest

// Common has a name and a script for each thing that all limiters do.
var Common = [][2]string{
	{"lockouts in a row last longer, a minute at most, until a success",
		"ask, 429 1ms, closed = 1ms minute, +1s ask, 429 1ms, closed = 1s minute, +1s ask, 429 1ms, " +
			"closed = 2s minute, +2s ask, 429 1ms, +4s ask, 429 1ms, +8s ask, 429 1ms, +16s ask, 429 1ms, " +
			"closed = 32s minute, +32s ask, 429 1ms, closed = 1m0s minute, +1m ask, 429 1ms, closed = 1m0s minute, " +
			"+1m get 60 59, +1s ask, 429 1ms 60 5, closed = 1ms minute"},
	{"lockouts without headers last twice as long, 16 minutes at most",
		"ask, 429, closed = 1m0s minute, +61s ask, 429, closed = 2m0s minute, +121s ask, 429, " +
			"closed = 4m0s minute, +5m ask, 429, closed = 8m0s minute, +9m ask, 429, closed = 16m0s minute, " +
			"+17m ask, 429, closed = 16m0s minute"},
	{"several 429s are one lockout, and an early success does not end it", "get 60 59, ask 3 = 3, 429 1s 60 9, " +
		"+50ms 429 1s 60 9, closed = 1s minute, +1.1s ask = 1, 200 60 8, last 429 1ms 60 9, closed = 1s minute"},
	{"after a lockout one request goes ahead, and another one after ten seconds",
		"get 41 40, ask, 429 20s 41 39, ask 5 = 0, +19.99s = 0, +20ms = 1, +9.9s = 0, +900ms = 1"},
	{"Reopen lets one request go in a window that is used up", "get 60 0, ask 3 = 0, reopen = 1, 200 60 50 = 2"},
	{"a wait for a pause, which may be too long", "get 60 59, pause 9s 8s, until = 9s, pause 9s 1h = 0, +9s = 1"},
	{"a pause in a lockout that lasts longer", "ask, 429 1h, pause 9s 1m, until = 1h0m0s ban"},
	{"a pause that ends in a lockout",
		"get 60 59, ask, pause 30s 35s, +20s 429 20s 60 5, +10s = 0, until = 10s minute"},
	{"a deadline before the end of the window", "get 60 0, end 10s, ask, until = 1m0s minute"},
	{"a deadline does not make MaxWait longer", "get 60 0, end 10m, now, until = 1m0s minute"},
	{"there is no time to try again if the context ends in a pause", "get 60 59, pause 9s 1m, leave, until = ?"},
	{"the end of a pause comes while the machine is suspended", "get 60 59, pause 30m 2h, clock 1h, +2m = 1"},
	// What an observer is told. The times count from the start of the script.
	{"each lockout is reported once, a longer one, and the end", "get 60 59, ask 4, 429 10s 60 50, 429 20s 60 50, " +
		"429 5m 60 50, heard = closed minute 10s; closed ban 5m0s, +5m1s 200 60 59, heard = nothing, " +
		"get 60 59, heard = opened ban 5m0s"},
	{"of a lockout that the same limit makes longer, the last end",
		"get 60 59, ask 2, 429 10s 60 50, 429 20s 60 50, +20s get 60 59, heard = closed minute 10s; opened minute 20s"},
	{"a lockout after another one by the same limit, and one end", "ask, 429 5m, +5m ask, 429 5m, " +
		"heard = closed ban 5m0s; closed ban 10m0s, +5m get 60 59, heard = opened ban 10m0s"},
	{"a lockout after Reopen, by the same limit",
		"ask, 429 1h, +1m reopen, ask, 429 30m, heard = closed ban 1h0m0s; closed ban 31m0s"},
	{"the success after Reopen", "ask 2, 429 10m, reopen = 1, 200 60 59, " +
		"heard = wait response ?; closed ban 10m0s; done response 0s; opened ban 0s"},
	{"no other limit that ends earlier", "get 99 98, ask 2, 429 5h 99 50, 200 99 0 1h, heard = closed ban 5h0m0s"},
	{"a day that is used up, and its end",
		"get 60 0 5h, heard = closed day 5h0m1s, +5h2s get 60 59, heard = opened day 5h0m1s"},
	{"no day with requests left", "get 60 59 5h, ask 3 = 3, 200 60 2 5h, heard = nothing"},
	{"a minute only if a request is refused for it, once",
		"get 60 0 40s, heard = nothing, now, heard = closed minute 41s, now, heard = nothing"},
	{"not if a request leaves", "get 60 0, ask, leave, heard = wait minute 1m0s; done minute 0s"},
	{"no end by a 401", "ask, 429 1s, +1s ask, 401, heard = closed minute 1s"},
	{"waits, also for a pause that ends in a lockout or after it", "get 60 59, ask, " +
		"pause 9s 1m, heard = wait backoff 9s, 429 20s 60 5, ask, background, pause 30s 1m, " +
		"heard = closed minute 20s; wait minute 20s; wait background 20s; wait minute 30s"},
	{"a wait with its place in the queue", "get 60 0, ask, place = 1, +1s ask, place = 2"},
}

package ratelimittest

// rules has a name and a script for each thing that a limiter must do.
var rules = [][2]string{
	{"one permit is one request, also without a response, until the window ends",
		"get 3 2, get 3 1, ask = 1, lost, ask, next = 4"},
	{"a permit that is released unsent is free again, once", "get 2 1, ask = 1, unsent, ask = 1, lost, ask, next = 4"},
	{"a late response does not raise what a later request lowered",
		"get 51 50, ask 2 = 2, +4s ask = 1, last 200 51 0, 200 51 49, 200 51 49 -2s, ask, next = 5"},
	{"a request for which there is room goes at once, also with MaxWait 0", "get 51 50, now = 1"},
	{"after a 429 nothing goes before its time, whatever other responses say, and then one first",
		"get 51 50, ask 2 = 2, 429 3s 51 49, 200 51 48, ask, ask, next = 4, 200 51 50 = 1"},
	{"a request is refused at once if a known limit lasts longer than MaxWait",
		"ask = 1, pause 0s 1m = 0, 429 1h 2 1, waiting = 0, closed = 1h0m0s ban, waiting = 0"},
	{"no request waits for longer than MaxWait and a second", "ask = 1, now = 0, +1s waiting = 0, heard closed = 0"},
	{"Reopen lets one request go, and its success opens the key",
		"ask = 1, 429 10m 2 1, reopen, ask = 1, ask = 0, 200 51 50 = 1, heard opened = 1"},
	{"keys never meet", "ask = 1, 429 1h 2 1, other window = [], other ask = 1, other 200 51 50, " +
		"other remaining = 50, other reopen, closed = 1h0m0s ban"},
	{"first come, first served, and a request that is tried again keeps its place",
		"get 1 0, +100ms ask, ask, again, next = 4, 200 1 0, next = 2"},
	{"background requests go last, and leave a tenth to others",
		"get 1 0, background, ask, next = 3, 200 10 9 1h = 1, 200 10 8 1h, get 10 7 1h, get 10 6 1h, " +
			"get 10 5 1h, get 10 4 1h, get 10 3 1h, get 10 2 1h, get 10 1 1h, background = 0, now = 1"},
	{"no request goes before its NotBefore, and others do", "get 51 50, pause 4s 1h = 0, get 51 49, next = 2"},
	{"a context that has ended gets no permit, and the next request goes",
		"get 1 0, ask, ask, leave 2, waiting = 1, next = 3, 200 51 50, end 0s, ask = 0, waiting = 0"},
	{"each wait is reported, and its end", "get 1 0, ask, next = 2, heard wait minute = 1, heard done minute = 1"},
	{"a lockout is reported once, and its end",
		"get 51 50, ask 2 = 2, 429 4s 51 49, 429 1s 51 48, heard closed minute = 1, ask, next = 4, 200 51 50, " +
			"get 51 49, heard closed = 1, heard opened = 1"},
}

package petstoreredis_test

import "testing"

// While Redis is away, calls go on, still within a limit, and the log says why.
func TestFallback(t *testing.T) {
	for failure, words := range map[string]string{"broken": "refused", "silent": "no reply within", "error OOM": "OOM"} {
		once := ", +1s " + failure + ", ask, +2.1s log level=WARN processes=2 " + words + ", 200 60 50, " +
			"+5s log, up, ask, +2s log level=INFO back, 200 60 49"
		perform(t, [][2]string{{failure, "b get 60 59, +3s get 60 58" + once + once}})
	}
	perform(t, [][2]string{
		{"only the first command may take three times as long",
			"get 60 59, +3s slow 3s, ask 99, +2.1s log level=WARN 2s, +9s log, slow 0s"},
		{"the log has the time", "silent, ask 20, +6.1s log :06. level=WARN within 6s, +7s up, +1s log level=INFO away=8s"},
		{"the share is that of the processes that Redis knew", "b get 60 59, +3s ask 5 = 5, broken, ask 99 = 0, +50s = 25"},
		{"the share is one at least", "share 9, get 5 4, +3s broken, ask 9 = 0, +50s = 0"},
		{"the window was used up", "get 60 0, +1s broken, ask = 0, +58.9s = 0, +200ms = 1"},
		{"others have used the window up", "share 3, get 60 59, +3s broken, ask, +700ms = 1, 200 60 0, ask = 0"},
		{"the others had the rest, and a share of the next window is theirs no more", "b get 60 59, +3s b ask 50, ask 4 = 4, broken, " +
			"ask 99 = 0, +50s = 2, leave, +20s ask 99 = 1, last 200 60 59, +5s = 21"},
		{"a permit of an earlier window that goes back adds nothing", "share 30, get 60 59, +3s ask, broken, ask 9 = 0, " +
			"+57.5s = 1, last 200 60 59 = 1, unsent = 0, 429 9s 60 50, sent = 1 of 60 by 1"},
		{"a permit that comes too late is free again", "get 6 5, +3s broken, ask 2, +600ms leave, +5s ask 9 = 1, +40s = 3"},
		{"requests that are refused at once try Redis again",
			"share 30, get 60 59, +3s broken, now 2, +700ms 200 60 58, up, +2s now = 0, +2s now = 1"},
		{"those who wait are refused when a ban begins",
			"share 30, get 60 59, +3s broken, ask = 0, +700ms = 1, pause 0s 2m, waiting = 1, 429 1h, waiting = 0"},
		{"a lockout goes on", "ask, 429 10m, +1s broken, ask = 0, +9m = 0, +1m = 1, 200 60 59, heard opened = 1"},
		{"background requests leave a tenth", "get 100 99, +3s broken, background 99 = 0, +50s = 89"},
		{"a background request comes after the others", "broken, share 10, ask, +1s ask, +88ms background, " +
			"+11ms 200 60 59 = 1, heard = wait response ?; wait response ?; done response 99ms"},
		{"an outcome that comes while Redis is tried again goes once Redis is back",
			"get 60 59, +3s ask 2 = 2, error OOM, ask 99, +500ms up, b now = 1, slow 300ms, +600ms 200 60 30, leave, " +
				"slow 0s, +1s b now = 1, b remaining = 30"},
		{"a success that comes when Redis is back counts for the window",
			"ask, 429 1s, +1s ask = 1, error OOM, ask = 1, ask = 0, up, +3s, last 200 60 40, +1s b now, " +
				"b remaining = 40"},
		{"a 429 that comes when Redis is back closes the key for all",
			"get 60 59, +3s broken, ask, +600ms up, +3s ask = 1, last 200 60 40, 429 1h, +1s b closed = 59m59s ban"},
		{"the pot believes what a process has seen of a window",
			"get 60 0, +1s broken, ask, +1m = 1, 200 60 59, up, b ask = 1, b 200 60 58, +1s ask, +100ms b now = 1"},
		{"a Redis that keeps no pot counts as away", "forgetful, ask, 200 640 639, ask 99 = 2, " +
			"+50s log level=WARN keep = 7, up, +3s log level=INFO back"},
	})
}

package petstoreredis_test

import "testing"

func TestQueueCommands(t *testing.T) {
	perform(t, [][2]string{
		{"calls that wait need few commands, a key at rest none",
			"get 2000 0, ask 500, background 500, commands 9, +50s commands 20, leave, commands 9, +1h commands 1, broken, " +
				"ask, +3s 200 2000 1999, +2m commands 999, +1h commands 0"},
		{"processes ask the less, the longer the service stalls",
			"ask, ask 500, background 500, commands 99, +10s commands 200"},
		{"processes ask often again after a response",
			"ask, b ask = 0, +900ms 200 4 3, +600ms = 1, +3s ask 2 = 2, b ask = 0, unsent, +100ms = 1"},
		{"each of many processes still asks twice a second",
			"ask, 429 1s, +1s ask = 1, set processes 64, b ask = 0, +9s 200 60 59, +700ms = 1"},
		{"a later outcome does not delay an earlier one", "get 60 59, +3s ask 2, 200 60 30, +15ms 200 60 29, " +
			"+6ms b now = 1, b remaining = 29"},
		{"those who left ask Redis no more", "error OOM, ask 2 = 1, +500ms leave, unsent, +3s commands 99, +1h commands 0"},
	})
}

func TestQueueWaiters(t *testing.T) {
	perform(t, [][2]string{
		{"a request that is not sent takes nothing of the share, and adds nothing to it",
			"b get 6 5, ask 2 = 2, unsent, unsent, +30ms ask 9 = 3, leave, unsent, unsent, unsent, +1m b get 6 5, ask 9 = 3"},
		{"a permit that comes too late goes back", "get 60 59, +3s slow 100ms, ask, leave, +1s slow 0s, ask 99 = 59"},
		{"a permit that comes while an observer is told goes back, too",
			"ask, observer 5s, ask = 0, 200 60 59, +1s leave, +9s observer 0s, ask 99 = 59"},
		{"after a 429 permits on their way are not used",
			"get 60 59, +3s ask, slow 300ms, ask 8 = 0, 429 1h = 0, +1s = 0, waiting = 8, slow 0s"},
		{"a MaxWait below 0 is like 0", "get 60 59, pause 0s -9s = 1"},
		{"MaxWait 0 while Redis stalls", "silent, now 99, +1.1s waiting = 0"},
		{"a machine that was suspended", "get 60 0, +1s now = 0, ask = 0, +10s ahead 1h, clock 1h, +30s = 1"},
		{"a wall clock that is set back", "get 60 0, +1s now = 0, ask = 0, +10s clock -1h, +50s = 1"},
	})
}

func TestQueueReopen(t *testing.T) {
	perform(t, [][2]string{
		{"Reopen ends one lockout", "ask, 429 1h, reopen, ask = 1, 429 1h, +10s b closed = 59m50s ban"},
		{"all learn in ten seconds that a key was reopened",
			"ask, 429 1h, b closed = 1h0m0s ban, b ask = 0, c now = 0, +5s c reopen, +10s = 1, b 200 60 59, now = 1, c now = 1"},
		{"a reply from before Reopen does not close the key again",
			"ask, 429 1h, ask = 0, slow 1s, +8.5s reopen, +1s error OOM, +1s = 1, slow 0s"},
		{"Reopen is not lost with a command that fails",
			"ask, 429 1h, error OOM, +1s reopen, +10ms up, +20s b now = 1"},
		{"Reopen is not lost during a command that fails",
			"ask, 429 1h, ask = 0, slow 1s, error OOM, +8.5s reopen, +1s up, slow 0s, +2s = 0, b now = 1"},
		{"Reopen is not lost while others use the pot", "ask, 429 1h, ask = 0, error OOM, reopen = 1, up, " +
			"+900ms c now = 0, +1s 200 60 59, +20s b now = 1"},
		{"Reopen lets one request go while Redis is away", "ask, 429 1h, ask = 0, broken, +20s = 0, reopen = 1"},
	})
}

func TestQueueReports(t *testing.T) {
	perform(t, [][2]string{
		{"requests that were not sent, and 429s, are no requests of the process", "get 60 59, +3s ask 5, " +
			"unsent, unsent, lost, 401, +1s 429 9s 60 50, sent = 2 of 60 by 1"},
		{"nor are permits that come too late", "get 60 59, +3s slow 100ms, ask 8, leave, +1s slow 0s, ask 2, " +
			"+1s 200 60 57, 429 9s 60 50, sent = 2 of 60 by 1"},
		{"a 429 without headers may be a request of the process", "get 60 59, +3s ask 2, 429 9s, sent = 3 of 60 by 1"},
		{"a background request that waits for a ban", "ask, slow 1s, 429 1h, background, heard = closed ban 1h0m0s; wait ban 1h0m0s"},
		{"the number of processes in a report is that of Redis, not that of WithShare",
			"share 7, get 60 59, +3s ask, 429 9s 60 50, sent = 1 of 60 by 1"},
		{"the number of processes in a report is 0 if nobody knows it",
			"broken, ask, +10s = 1, 429 9s 60 50, sent = 0 of 60 by 0"},
	})
}

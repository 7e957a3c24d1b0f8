package petstoreredis_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Package ratelimit and the script have numbers and functions that Go code here has, too: each must
// be the same in both.
func TestPotNumbers(t *testing.T) {
	needsRepository(t)
	find := func(folder, pattern string) string {
		var text []byte
		files, _ := filepath.Glob(folder + "/*.[gl][ou]*") // Go and Lua
		for _, file := range files {
			if content, err := os.ReadFile(file); !strings.HasSuffix(file, "_test.go") {
				require.NoError(t, err)
				text = append(text, content...)
			}
		}
		found := regexp.MustCompile(pattern).FindAllSubmatch(text, -1)
		require.Len(t, found, 1, "%s has no %s, or several", folder, pattern)
		return strings.ReplaceAll(string(found[0][1]), "ratelimit.", "")
	}
	const function = `(?s)\n(func [^\n]*\b%s\(.*?\n}\n)`
	for _, row := range []struct{ here, folder, there string }{
		{`reason_response = (\d+)`, ".", `responseIndex = (\d+)`},
		{`same_window = (\d+)`, ".", `sameWindow = (\d+) \* time.Second`},
		{`same_window = (\d+)`, "../ratelimit", `sameWindow += (\d+) \* time.Second`},
		{`await_after_429 = (\d+) \* second`, "../ratelimit", `slowAfter429 += (\d+) \* time.Second`},
		{`growth = (\S+)`, "../ratelimit", `speedUp = (\S+)`},
		{`reserve_part = (\d+)`, "../ratelimit", `b\.limit / (\d+)\n`},
		{`pot\.urgent \+ (\d+) \* minute`, "../ratelimit", `lastForeground\) < (\d+)\*time.Minute`},
		{`const extraWait = (.*)`, "../ratelimit", `extraWait = (.*)`},
		{fmt.Sprintf(function, "contextError"), "../ratelimit", fmt.Sprintf(function, "contextError")},
		{fmt.Sprintf(function, "reportClosed"), "../ratelimit", fmt.Sprintf(function, "reportClosed")},
	} {
		assert.Equal(t, find(row.folder, row.there), find(".", row.here), row.here)
	}
}

// The rows of the tests below are ordered from simple to odd. Package scripttest explains their steps.
// In most rows a response shows requests of other programs: then one permit is kept back for them.

func TestPotGrants(t *testing.T) {
	perform(t, [][2]string{
		{"after a first request without a response, the next waits a second", "ask 5 = 1, lost = 0, +990ms = 0, +700ms = 1"},
		{"a first request that was abandoned is followed at once", "ask 5 = 1, abandoned = 1"},
		{"without headers one request is in flight", "get, ask 9 = 1, 200 = 1, +900ms = 0, +600ms = 1"},
		{"a process gets its share in a second, twice that in two, then twice its share of what is left",
			"get 100 99, b ask 10 = 10, c ask 10 = 10, ask 99 = 33, +1.1s = 34, leave, +1s slow 1ms, ask 99, +5ms = 8"},
		{"who waits for the next share does not wait for the reserve", "b get 100 10, ask 99 = 5, +1.1s = 4"},
		{"a process that asks no more counts half as much in each window", "get 60 59, b ask, c ask, d ask, +1m get 60 59, " +
			"slow 1ms, ask 99, +5ms = 14, leave, +1m ask, +5ms 200 60 59, +5ms ask 99, +5ms = 29"},
	})
}

func TestPotKeptBack(t *testing.T) {
	perform(t, [][2]string{
		{"what other programs probably sent is kept back", "+30s get 60 38, +10s slow 1ms, ask 99, +5ms = 30"},
		{"at most half is kept back for other programs", "get 60 59, +30s get 60 10, +20s slow 1ms, ask 99, +5ms = 6"},
		{"background requests that are alone leave nothing", "background, 200 100 99, +3s background 100 = 99"},
		{"background requests leave a tenth if others were there", "get 100 99, +3s background 100 = 89, background 100 = 0"},
		{"background requests leave a tenth for two minutes",
			"get 100 99, +65s background = 1, 200 100 10, +3s background = 0"},
	})
}

func TestPotOutcomes(t *testing.T) {
	perform(t, [][2]string{
		{"an old window says nothing", "get 60 9 50s, get 60 50 10s, remaining = 9"},
		{"an outcome of an old window changes nothing", "get 41 40, ask 2 = 2, +1m ask 3 = 3, lost, +1s ask 99 = 35"},
		{"a 401 shows no window", "get 60 59, ask, 401 60 5, remaining = 59"},
		{"a late response with a slightly earlier Reset lowers Remaining", "get 60 59, +3s ask 2, last 200 60 50 58s, " +
			"200 60 40 57s, +100ms b now = 1, b remaining = 40"},
		{"the lowest of those in flight with a later request counts",
			"get 99 98 60s, +3s ask 3, +100ms 200 99 30 60s, +100ms ask, +100ms 200 99 45 61s, 200 99 40 61s, +100ms last 200 99 60 61s, " +
				"+100ms remaining = 40"},
		{"of two ends by one Reset the earlier counts", "ask 2, +1.9s 200 60 0, +100ms 200 60 1, +1s b closed = 58s minute"},
		{"the window of another limit may end earlier", "get 500 50 5h, +3s get 60 20 50s, +3s slow 1ms, ask 99, +5ms = 11"},
		{"responses are awaited for two seconds, and then the end of the window",
			"get 4 3, +3s ask 3 = 3, +1.9s b now = 0, waiting = 1, +200ms c closed = 54.9s minute"},
		{"responses are awaited while others are in flight", "get 4 3, +3s ask 3, +1s 200 4 2, flush, b now, waiting = 1"},
		{"none are awaited once all have come, although a permit is kept back",
			"get 60 59, +3s get 60 1, flush, b closed = 57s minute"},
		{"a spent permit counts, whatever earlier ones show", "get 11 10, ask 3 = 3, lost, lost, 200 11 9, +1s ask 99 = 8"},
		{"a command whose reply is lost counts once", "get 60 59, +1s ask 2, replylost, 200 60 58, flush, +3s ask 99 = 57"},
	})
}

func TestPotWindow(t *testing.T) {
	perform(t, [][2]string{
		{"a quarter of the limit goes over to the next window", "get 60 15, +1m ask 20 = 14"},
		{"less than a quarter does not", "get 60 14, +1m ask 20 = 1"},
		{"a window of a day that is used up lasts to its end", "get 1000 0 1h, +59m closed = 1m1s day, ask = 0, +1m2s = 1"},
		{"permits that die with a process come back in a window of a day",
			"get 501 500 1h, +3s b ask 400 = 400, ask 99 = 99, +1m ask = 1, last 200 501 400 58m, +3s ask 9 = 9"},
		{"a clock of Redis that goes forward ends the window", "get 60 10, ahead 24h, ask 5 = 1"},
	})
}

func TestPotLockout(t *testing.T) {
	perform(t, [][2]string{
		{"others learn of a 429 at once", "get 60 59, b get 60 58, +1s ask, 429 1h, +5ms b now = 0"},
		{"others learn of a 429 although its command was lost", "get 60 59, +3s ask, cut, 429 1h 60 50, +1s b closed = 59m59s ban"},
		{"others learn of a 429 although its reply was lost", "get 60 59, +3s ask, replylost, 429 1h 60 50, +1s b closed = 59m59s ban"},
		{"a shorter 429 does not shorten a lockout",
			"get 60 59, +3s ask 2, slow 1s, 429 20s 60 5, 429 1s 60 5, closed = 20s minute, +3s slow 0s"},
		{"a shorter 429 of another process does not hide a ban",
			"get 60 59, b ask, +3s ask, 429 1h 60 5, b 429 1s 60 5, +1s c closed = 59m59s ban"},
		{"a 429 that Redis learns of after its lockout counts as one in a row",
			"get 60 59, +3s ask, slow 1500ms, ask = 0, 429 1s 60 5, +9s slow 0s, 429 1ms 60 5, closed = 1s minute"},
		{"a 429 of an old window ends the new one", "get 60 59, +3s ask, +58s b get 60 58, 429 2s 60 50, +2.1s b ask 9 = 1"},
		{"a pot is kept for ten minutes longer than its window", "get 60 0 5h, ttl = 5h10m1s"},
		{"a pot is kept for ten minutes longer than its lockout", "ask, 429 5h, ttl = 5h10m0s"},
	})
}

// A pot that lacks what a process knows is replaced by one that gives one permit at first.
func TestPotNew(t *testing.T) {
	for _, spoil := range []string{"empty", "set remaining junk", "set limit junk", "set number 1", "ahead -5s"} {
		steps := "ask 1, 200 60 40, +3s " + spoil + ", ask 9 = 0, +1.4s = 0, +600ms = 1, 200 60 39 = 8"
		perform(t, [][2]string{{spoil, steps}})
	}
	perform(t, [][2]string{
		{"a new pot believes that the key is closed", "ask, 429 1h, empty, +1m b ask, ask, +10s b closed = 58m50s ban"},
		{"a new pot believes that the window is used up", "get 60 0, empty, +10s ask = 0, b closed = 50s minute"},
		{"a new pot does not hide what a window has left",
			"get 300 299, +3s ask 2, empty, slow 20ms, ask, +10ms 200 300 298, +5s = 1"},
		{"a new pot does not ask WithShare what others have used", "share 64, get 60 59, +3s empty, ask, +2s = 1"},
		{"before a new pot, permits in flight may have used the window up",
			"get 6 5, +3s ask 5 = 5, empty, ask = 0, +50s = 0, +10s = 1"},
		{"before a new pot, other processes may have used the window up",
			"b get 60 59, +3s get 60 3, +1s ask = 1, empty, ask = 0, +50s = 0, +10s = 1"},
	})
}

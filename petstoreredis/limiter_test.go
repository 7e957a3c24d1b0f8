package petstoreredis_test

import (
	"bytes"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/scripttest"
	"github.com/petstore/petstore-go/petstoreredis"
	"github.com/petstore/petstore-go/ratelimit"
	"github.com/petstore/petstore-go/ratelimit/ratelimittest"
)

func TestLimiterRules(t *testing.T) {
	r := newVirtualRedis(t)
	ratelimittest.Run(t, func(t *testing.T) ratelimittest.Limiter {
		return r.process(t, petstoreredis.WithKeyPrefix(t.Name()))
	})
}

func TestNewLimiter(t *testing.T) {
	_, err := petstoreredis.NewLimiter(nil)
	assert.ErrorIs(t, err, petstore.ErrInvalidArgument)
	for _, invalid := range []petstoreredis.Option{petstoreredis.WithShare(-1), petstoreredis.WithTimeout(0), nil} {
		_, err = petstoreredis.NewLimiter(newClient(t, "", &link{}), invalid)
		assert.ErrorIs(t, err, petstore.ErrInvalidArgument)
	}
}

func TestCommon(t *testing.T) { perform(t, scripttest.Common) }

// TestLimiter has processes that share a pot. In most rows a response shows requests of other
// programs: then one permit is kept back for these programs. Package scripttest explains the steps.
func TestLimiter(t *testing.T) {
	perform(t, [][2]string{
		{"a quarter of the limit goes over to the next window", "get 60 15, +1m ask 20 = 14"},
		{"less than a quarter does not", "get 60 14, +1m ask 20 = 1"},
		{"an outcome of an old window changes nothing", "get 41 40, ask 2 = 2, +1m ask 3 = 3, lost, +1s ask 99 = 35"},
		{"the lowest of those in flight with a later request counts",
			"get 99 98 60s, +3s ask 3, +100ms 200 99 30 60s, +100ms ask, +100ms 200 99 45 61s, 200 99 40 61s, +100ms last 200 99 60 61s, " +
				"+100ms window = [limit=99 remaining=40 reset=2000-01-01 00:01:04 +0000 UTC]"},
		{"a 429 without headers may be a request of the process", "get 60 59, +3s ask 2, 429 9s, sent = 3 of 60 by 1"},
		{"a later outcome does not delay an earlier one", "get 60 59, +3s ask 2, 200 60 30, +15ms 200 60 29, " +
			"+6ms b now = 1, b window = [limit=60 remaining=29 reset=2000-01-01 00:01:00 +0000 UTC]"},
		{"a reply from before Reopen does not close the key again",
			"ask, 429 1h, ask = 0, slow 1s, +8.5s reopen, +1s error OOM, +1s = 1, slow 0s"},
		{"a late response with a slightly earlier Reset lowers Remaining", "get 60 59, +3s ask 2, last 200 60 50 58s, " +
			"200 60 40 57s, +100ms b now = 1, b window = [limit=60 remaining=40 reset=2000-01-01 00:01:01 +0000 UTC]"},
		{"who waits for the next share does not wait for the reserve", "b get 100 10, ask 99 = 5, +1.1s = 4"},
		{"a spent permit counts, whatever earlier ones show", "get 11 10, ask 3 = 3, lost, lost, 200 11 9, +1s ask 99 = 8"},
		{"after a first request without a response, the next waits a second", "ask 5 = 1, lost = 0, +990ms = 0, +700ms = 1"},
		{"a first request that was abandoned is followed at once", "ask 5 = 1, abandoned = 1"},
		{"a process gets its share in a second, twice that in two, then twice its share of what is left",
			"get 100 99, b ask 10 = 10, c ask 10 = 10, ask 99 = 33, +1.1s = 34, leave, +1s slow 1ms, ask 99, +5ms = 8"},
		{"a process that asks no more counts half as much in each window", "get 60 59, b ask, c ask, d ask, +1m get 60 59, " +
			"slow 1ms, ask 99, +5ms = 14, leave, +1m ask, +5ms 200 60 59, +5ms ask 99, +5ms = 29"},
		{"what other programs probably sent is kept back", "get 60 59, +30s get 60 38, +10s slow 1ms, ask 99, +5ms = 30"},
		{"background requests leave a tenth if others were there", "get 100 99, +3s background 100 = 89, background 100 = 0"},
		{"background requests leave a tenth for two minutes",
			"get 100 99, +65s background = 1, 200 100 10, +3s background = 0"},
		{"background requests that are alone leave nothing", "background, 200 100 99, +3s background 100 = 99"},
		{"a window of a day that is used up lasts to its end", "get 1000 0 1h, +59m closed = 1m1s day, ask = 0, +1m2s = 1"},
		{"a window of a day is over a day later", "get 1000 0 24h, +23h59m b now = 0, +2m b now = 1"},
		{"at most half is kept back for other programs", "get 60 59, +30s get 60 10, +20s slow 1ms, ask 99, +5ms = 6"},
		{"the window of another limit may end earlier", "get 500 50 5h, +3s get 60 20 50s, +3s slow 1ms, ask 99, +5ms = 11"},
		{"of two ends by one Reset the earlier counts", "ask 2, +1.9s 200 60 0, +100ms 200 60 1, +1s b closed = 58s minute"},
		{"permits that die with a process come back in a window of a day",
			"get 501 500 1h, +3s b ask 400 = 400, ask 99 = 99, +1m ask = 1, last 200 501 400 58m, +3s ask 9 = 9"},
		{"responses are awaited for two seconds, and then the end of the window",
			"get 4 3, +3s ask 3 = 3, +1.9s b now = 0, waiting = 1, +200ms c closed = 54.9s minute"},
		{"a clock of Redis that goes forward ends the window", "get 60 10, ahead 24h, ask 5 = 1"},
		{"all learn in ten seconds that a key was reopened",
			"ask, 429 1h, b closed = 1h0m0s ban, b ask = 0, c now = 0, +5s c reopen, +10s = 1, b 200 60 59, now = 1, c now = 1"},
		{"each further 429 in a row closes the key for longer, also that of another process",
			"ask, 429 500ms, closed = 500ms minute, +1s ask, 429 500ms, closed = 1s minute, +2s b ask, b 429 500ms, " +
				"b closed = 2s minute, +3s get 60 59, +1s ask, 429 500ms, closed = 500ms minute"},
		{"a 429 that Redis learns of after its lockout counts as one in a row",
			"get 60 59, +3s ask, slow 1500ms, ask = 0, 429 1s 60 5, +9s slow 0s, 429 1ms 60 5, closed = 1s minute"},
		{"a shorter 429 does not shorten a lockout",
			"get 60 59, +3s ask 2, slow 1s, 429 20s 60 5, 429 1s 60 5, closed = 20s minute, +3s slow 0s"},
		{"a shorter 429 of another process does not hide a ban",
			"get 60 59, b ask, +3s ask, 429 1h 60 5, b 429 1s 60 5, +1s c closed = 59m59s ban"},
		{"a 429 of an old window ends the new one", "get 60 59, +3s ask, +58s b get 60 58, 429 2s 60 50, +2.1s b ask 9 = 1"},
		{"after a 429 permits on their way are not used",
			"get 60 59, +3s ask, slow 300ms, ask 8 = 0, 429 1h = 0, +1s = 0, waiting = 8, slow 0s"},
		{"a permit that comes too late goes back", "get 60 59, +3s slow 100ms, ask, leave, +1s slow 0s, ask 99 = 59"},
		{"a permit that comes while an observer is told goes back, too",
			"ask, observer 5s, ask = 0, 200 60 59, +1s leave, +9s observer 0s, ask 99 = 59"},
		{"a command whose reply is lost counts once", "get 60 59, +1s ask 2, replylost, 200 60 58, flush, +3s ask 99 = 57"},
		{"Flush reports what Redis does not know", "get 60 59, +3s ask 2, 200 60 5, flush = <nil>, b ask 99 = 3, " +
			"error READONLY replica, 200 60 4, flush = petstoreredis: flush: READONLY replica"},
		{"a context ends Flush", "ask, silent, 200 60 59, end 1s, flush = petstoreredis: flush: context deadline exceeded"},
		{"without headers one request is in flight", "get, ask 9 = 1, 200 = 1, +900ms = 0, +600ms = 1"},
		{"processes ask the less, the longer the service stalls",
			"ask, ask 500, background 500, commands 99, +10s commands 200"},
		{"processes ask often again after a response",
			"ask, b ask = 0, +900ms 200 4 3, +600ms = 1, +3s ask 2 = 2, b ask = 0, unsent, +100ms = 1"},
		{"calls that wait need few commands, a key at rest none",
			"get 2000 0, ask 500, background 500, commands 9, +50s commands 20, leave, commands 9, +1h commands 1, broken, " +
				"ask, +3s 200 2000 1999, +2m commands 999, +1h commands 0"},
		{"those who left ask Redis no more", "error OOM, ask 2 = 1, +500ms leave, unsent, +3s commands 99, +1h commands 0"},
		{"responses are awaited while others are in flight", "get 4 3, +3s ask 3, +1s 200 4 2, flush, b now, waiting = 1"},
		{"the number of processes in a report is that of Redis, not that of WithShare",
			"share 7, get 60 59, +3s ask, 429 9s 60 50, sent = 1 of 60 by 1"},
		{"the number of processes in a report is 0 if nobody knows it",
			"broken, ask, +10s = 1, 429 9s 60 50, sent = 0 of 60 by 0"},
		{"Reopen is not lost with a command that fails",
			"ask, 429 1h, error OOM, +1s reopen, +10ms up, +20s b now = 1"},
		{"Reopen is not lost while others use the pot", "ask, 429 1h, ask = 0, error OOM, reopen = 1, up, " +
			"+900ms c now = 0, +1s 200 60 59, +20s b now = 1"},
		{"Reopen lets one request go while Redis is away", "ask, 429 1h, ask = 0, broken, +20s = 0, reopen = 1"},
		{"Reopen ends one lockout", "ask, 429 1h, reopen, ask = 1, 429 1h, +10s b closed = 59m50s ban"},
		{"a pot is kept for ten minutes longer than its window", "get 60 0 5h, ttl = 5h10m1s"},
		{"a pot is kept for ten minutes longer than its lockout", "ask, 429 5h, ttl = 5h10m0s"},
		{"an old window says nothing", "get 60 9 50s, get 60 50 10s, window = [limit=60 remaining=9 reset=2000-01-01 00:00:50 +0000 UTC]"},
		{"a machine that was suspended", "get 60 0, +1s now = 0, ask = 0, +10s ahead 1h, clock 1h, +30s = 1"},
		{"a wall clock that is set back", "get 60 0, +1s now = 0, ask = 0, +10s clock -1h, +50s = 1"},
		{"MaxWait 0 while Redis stalls", "silent, now 99, +1.1s waiting = 0"},
		{"MaxWait 0 while the service stalls and Redis is away", "broken, ask, now 99, +1.1s waiting = 0"},
		{"a lockout is reported with the requests of the process",
			"b get 60 59, +1s ask 2, 200 60 58, 429 9s 60 50, sent = 1 of 60 by 2"},
		{"requests that were not sent, and 429s, are no requests of the process", "get 60 59, +3s ask 5, " +
			"unsent, unsent, lost, 401, +1s 429 9s 60 50, sent = 2 of 60 by 1"},
		{"nor are permits that come too late", "get 60 59, +3s slow 100ms, ask 8, leave, +1s slow 0s, ask 2, " +
			"+1s 200 60 57, 429 9s 60 50, sent = 2 of 60 by 1"},
		{"a request that is not sent takes nothing of the share, and adds nothing to it",
			"b get 60 59, ask 20 = 20, " + strings.Repeat("unsent, ", 20) + "+30ms ask 99 = 30, leave, " +
				strings.Repeat("unsent, ", 30) + "+1m b get 60 59, ask 99 = 30"},
	})
}

// A pot that lacks what a process knows is replaced by one that gives one permit at first.
func TestLimiterNewPot(t *testing.T) {
	for _, spoil := range []string{"empty", "set remaining junk", "set limit junk", "set number 1", "ahead -5s"} {
		steps := "ask 1, 200 60 40, +3s " + spoil + ", ask 9 = 0, +1.4s = 0, +600ms = 1, 200 60 39 = 8"
		perform(t, [][2]string{{spoil, steps}})
	}
	perform(t, [][2]string{
		{"a new pot believes that the key is closed", "ask, 429 1h, empty, +1m b ask, ask, +10s b closed = 58m50s ban"},
		{"a new pot believes that the window is used up", "get 60 0, empty, +10s ask = 0, b closed = 50s minute"},
		{"a new pot does not hide what a window has left",
			"get 300 299, +3s ask 2, empty, slow 20ms, ask, +10ms 200 300 298, +5s = 1"},
		{"before a new pot, permits in flight may have used the window up",
			"get 6 5, +3s ask 5 = 5, empty, ask = 0, +50s = 0, +10s = 1"},
		{"before a new pot, other processes may have used the window up",
			"b get 60 59, +3s get 60 3, +1s ask = 1, empty, ask = 0, +50s = 0, +10s = 1"},
	})
}

// While Redis is away, calls go on, still within a limit, and the log says why.
func TestLimiterAway(t *testing.T) {
	for failure, words := range map[string]string{"broken": "refused", "silent": "no reply within", "error OOM": "OOM"} {
		once := ", +1s " + failure + ", ask, +2.1s log level=WARN processes=2 " + words + ", 200 60 50, " +
			"+5s log, up, ask, +2s log level=INFO back, 200 60 49"
		perform(t, [][2]string{{failure, "b get 60 59, +3s get 60 58" + once + once}})
	}
	perform(t, [][2]string{
		{"the first command may take three times as long", "silent, ask, +5.9s = 0, +200ms = 1"},
		{"the share is that of the processes that Redis knew", "b get 60 59, +3s ask 5 = 5, broken, ask 99 = 0, +50s = 25"},
		{"the share is WithShare", "share 10, get 60 59, +3s broken, ask 99 = 0, +50s = 5"},
		{"the share is one at least", "share 9, get 5 4, +3s broken, ask 9 = 0, +50s = 0"},
		{"the share is a sixty-fourth if Redis has never replied", "broken, ask, +1s 200 320 319, ask 99 = 1, +50s = 3"},
		{"the share is one of what is left, if others had more than theirs",
			"share 3, get 60 29, +3s broken, ask 99 = 0, +50s = 10"},
		{"the share was used up in this window", "b get 60 59, +3s ask 40 = 40, broken, ask 99 = 0, +50s = 0"},
		{"the window was used up", "get 60 0, +1s broken, ask = 0, +58.9s = 0, +200ms = 1"},
		{"each window has a share",
			"share 30, get 60 59, +3s broken, ask 9 = 0, +50s = 1, 200 60 50, +7s = 0, +1s = 1, 200 60 59 = 1"},
		{"a permit of an earlier window that goes back adds nothing", "share 30, get 60 59, +3s ask, broken, ask 9 = 0, " +
			"+57.5s = 1, last 200 60 59 = 1, unsent = 0, 429 9s 60 50, sent = 1 of 60 by 30"},
		{"requests that are refused at once try Redis again",
			"share 30, get 60 59, +3s broken, now 2, +700ms 200 60 58, up, +2s now = 0, +2s now = 1"},
		{"a lockout goes on", "ask, 429 10m, +1s broken, ask = 0, +9m = 0, +1m = 1"},
		{"a 429 that comes when Redis is back closes the key for all",
			"get 60 59, +3s broken, ask, +600ms up, +3s ask = 1, last 200 60 40, 429 1h, +1s b closed = 59m59s ban"},
		{"the log has the time", "silent, ask, +6.1s log 00:00:06 level=WARN within 6s, up, +9s ask, +1s log level=INFO back away=9.1s"},
		{"a background request comes after the others", "broken, share 10, ask, +1s ask, +88ms background, " +
			"+11ms 200 60 59 = 1, heard = wait response ?; wait response ?; done response 99ms"},
		{"background requests leave a tenth", "get 100 99, +3s broken, background 99 = 0, +50s = 89"},
		{"a permit that comes too late is free again", "get 6 5, +3s broken, ask 2, +600ms leave, +5s ask 9 = 1, +40s = 3"},
		{"an outcome that comes while Redis is tried again goes once Redis is back",
			"get 60 59, +3s ask 2 = 2, error OOM, ask 99, +500ms up, b now = 1, slow 300ms, +600ms 200 60 30, leave, " +
				"slow 0s, +1s b now = 1, b window = [limit=60 remaining=30 reset=2000-01-01 00:01:00 +0000 UTC]"},
		{"a success that comes when Redis is back counts for the window",
			"ask, 429 1s, +1s ask = 1, error OOM, ask = 1, ask = 0, up, +3s, last 200 60 40, +1s b now, " +
				"b window = [limit=60 remaining=40 reset=2000-01-01 00:01:00 +0000 UTC]"},
		{"only the first command may take three times as long",
			"get 60 59, +3s slow 3s, ask 99, +2.1s log level=WARN 2s, +9s log, slow 0s"},
		{"the others had the rest, and a share of the next window is theirs no more", "b get 60 59, +3s b ask 50, ask 4 = 4, broken, " +
			"ask 99 = 0, +50s = 2, leave, +20s ask 99 = 1, last 200 60 59, +5s = 21"},
	})
}

// get makes a request that is admitted at once, and succeeds.
func get(t *testing.T, l *petstoreredis.Limiter, r ratelimit.Request) {
	t.Helper()
	p, err := l.Acquire(t.Context(), r)
	require.NoError(t, err)
	now := time.Now()
	w := ratelimit.Window{Limit: 60, Remaining: 59, Reset: now.Add(time.Minute)}
	p.Release(ratelimit.Outcome{Sent: now, Received: now, StatusCode: 200, Window: w})
}

func TestFlushOfManyKeys(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l, keys := r.process(t), []string{"1", "2", "3", "spoilt", "4", "5", "6"}
		for _, key := range slices.Concat(keys, keys) {
			get(t, l, ratelimit.Request{Key: key})
		}
		r.Del("petstore:spoilt")
		require.NoError(t, r.Set("petstore:spoilt", "no pot"))
		r.evals.Store(0)
		assert.ErrorContains(t, l.Flush(t.Context()), "WRONGTYPE")
		assert.EqualValues(t, len(keys), r.evals.Load(), "one key that fails does not keep the others")
	})
}

// If Redis fails for one key, as if a part of a cluster is away, the log says so once.
func TestLogOfManyKeys(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		var log bytes.Buffer
		l := r.process(t, petstoreredis.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		require.NoError(t, r.Set("petstore:spoilt", "no pot"))
		for range 10 {
			get(t, l, ratelimit.Request{Key: "well"})
			get(t, l, ratelimit.Request{Key: "spoilt", MaxWait: time.Hour})
			time.Sleep(2 * time.Second)
		}
		assert.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
		assert.Contains(t, log.String(), "key_id=spoilt")
	})
}

// A limiter keeps nothing of a request that is over, and nothing of a key without requests.
func TestLimiterMemory(t *testing.T) {
	bubble(t, func(t *testing.T, r *virtualRedis) {
		l := r.process(t)
		observer := &struct{ ratelimit.Observer }{}
		kept := weak.Make(observer)
		get(t, l, ratelimit.Request{Observer: observer})
		runtime.GC()
		assert.Nil(t, kept.Value())
		assert.Zero(t, l.RateLimit("unknown"))
		assert.Equal(t, 1, l.Keys())
	})
}

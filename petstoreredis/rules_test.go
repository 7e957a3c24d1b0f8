package petstoreredis

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/quota"
	"github.com/petstore/petstore-go/internal/quota/quotatest"
)

// trusted is with how many responses that show nobody else a fleet begins, and a Budget allows all
// that is left.
const trusted = 8

// luaState is what the script keeps, as far as a test looks at it.
type luaState struct {
	Epoch, Limit, Own, Look, Alone int
	Reset                          int64
	Start, Ends, Gate              float64
	Slides                         bool
	Outstanding                    int
	Low, Lost, Counted             []any
	Recent, Foreign                int
}

// exception is where the script and package quota differ on purpose.
type exception struct {
	name, reason string
	// admission reports whether it is why the two decide differently.
	admission func(s *luaState) bool
	// outcome reports whether it applies to the outcome of a request, so that the history ends
	// before.
	outcome func(s *luaState, r *report) bool
}

// exceptions are all the differences. Besides, what a process waits for and until when is compared,
// but not when it asks Redis again: nobody wakes a process when another one's response has come.
var exceptions = []exception{
	{
		name: "first responses",
		reason: "Of an unknown key a Budget has a sixteenth of what is left in flight (unknownPart), and a fleet one " +
			"request until the second response, then all: to wait for more responses costs a round trip each. In a " +
			"window that others have opened, a Budget's part grows with each response, and a fleet's does not.",
		admission: func(s *luaState) bool {
			return s.Epoch == 1 && s.Own < s.Look || s.Alone >= 0 && s.Alone <= trusted
		},
	},
	{
		name: "short windows",
		reason: "A Budget takes a window shorter than half a minute for a sliding one. A fleet takes it for what it " +
			"is, because the examples have one.",
		outcome: func(s *luaState, r *report) bool {
			apart := r.Reset - s.Reset
			return r.Limit > 0 && s.Reset > 0 && !s.Slides && apart > 0 && apart <= 30 && s.Ends-s.Start < 32_000
		},
	},
	{
		name:   "long lists",
		reason: "The lists low and lost of the state are cut at 32, to the safe side: TestScript_longLists.",
		outcome: func(s *luaState, _ *report) bool {
			return len(s.Low) >= 32 || len(s.Lost) >= 32
		},
	},
}

// steps is how many steps the histories take, PETSTORE_STEPS if that is set.
func steps(t *testing.T, fallback int) int {
	t.Helper()
	text := os.Getenv("PETSTORE_STEPS")
	if text == "" && testing.Short() {
		return fallback / 10
	}
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// TestScript_sameRulesAsQuota takes millions of steps with PETSTORE_STEPS=5000000.
func TestScript_sameRulesAsQuota(t *testing.T) {
	const each = 500
	ended := map[string]int{}
	for seed := range uint64(steps(t, 20_000) / each) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHistory(t, seed)
			for range each {
				if h.step(); h.over != "" {
					break
				}
			}
			ended[h.over]++
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("histories by the exception that ended them: %v", ended)
}

// TestScript_usableResetDecides has a service without Date, whose clock is four minutes ahead: the
// Resets of its day are usable, and those of its minutes are not.
func TestScript_usableResetDecides(t *testing.T) {
	h := newHistory(t, 0)
	day := h.now().Add(10 * time.Hour).Truncate(time.Second)
	for _, limit := range []quota.RateLimit{
		{Limit: 100, Remaining: 2, Reset: day},
		{Limit: 60, Remaining: 1, Reset: h.now().Add(5 * time.Minute).Truncate(time.Second)},
		{Limit: 100, Remaining: 0, Reset: day},
	} {
		h.admit()
		require.Len(t, h.trips, 1)
		o := quota.Observation{Sent: h.now(), Received: h.now(), StatusCode: http.StatusOK, RateLimit: limit}
		h.settle(h.trips[0], o)
	}
	h.admit() // passes the time until which both wait
	require.WithinDuration(t, day, h.now(), 2*time.Second)
}

func TestScript_longLists(t *testing.T) {
	long(t)
	longest := 0
	for seed := range uint64(5) {
		h := newHistory(t, seed)
		h.service.Window, h.service.PerMinute, h.service.PerDay = quotatest.Fixed, 300, 0
		h.service.NoHeaders, h.strange, h.others, h.cut = false, nil, false, true
		for range 300 {
			for range h.rng.IntN(6) {
				h.admit()
			}
			h.step()
			if p := pick(h.rng, h.trips, func(p *trip) bool { return p.response == nil }); p != nil && h.rng.IntN(4) == 0 {
				h.settle(p, quota.Observation{Sent: p.sent}) // lost
			}
			s := h.state()
			longest = max(longest, len(s.Low), len(s.Lost))
		}
	}
	require.Equal(t, 32, longest)
}

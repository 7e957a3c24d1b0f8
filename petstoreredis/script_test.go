package petstoreredis

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/ratelimit"
)

// scripted is a pot in a Redis whose clock is under the test's control. The processes that share it
// are only in the orders that the tests send.
type scripted struct {
	t     *testing.T
	redis *miniredis.Miniredis
	pot   *pot
	now   time.Time
	reset time.Time // of the windows of the responses
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	r := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: r.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	start := time.Unix(1_000_000_000, 0)
	return &scripted{t: t, redis: r, pot: newPot(rdb, config{prefix: "pot:"}), now: start, reset: start.Add(time.Minute)}
}

// send sends an order after a time, and returns it with the reply.
func (s *scripted) send(after time.Duration, x ratelimit.Exchange) ratelimit.Exchange {
	s.t.Helper()
	s.now = s.now.Add(after)
	s.redis.SetTime(s.now)
	require.NoError(s.t, s.pot.run(s.t.Context(), true, &x))
	return x
}

// want asks for permits after a time, as a process that has asked in this window before.
func (s *scripted) want(after time.Duration, n int) ratelimit.Exchange {
	s.t.Helper()
	epoch := s.send(after, ratelimit.Exchange{}).Reply.Epoch
	return s.send(0, ratelimit.Exchange{Want: n, Epoch: epoch})
}

// response reports a response to the last permit of x.
func (s *scripted) response(x ratelimit.Exchange, limit, remaining int) ratelimit.Exchange {
	s.t.Helper()
	return s.send(0, ratelimit.Exchange{
		Counted: x.Reply.Epoch, Done: 1, Latest: x.Reply.Number, EndsIn: s.reset.Sub(s.now),
		Window: ratelimit.Window{Limit: limit, Remaining: remaining, Reset: s.reset},
	})
}

// open opens a window with a first response.
func (s *scripted) open(limit, remaining int) {
	s.t.Helper()
	s.response(s.want(0, 1), limit, remaining)
}

func TestScript(t *testing.T) {
	t.Run("a quarter of the limit goes over to the next window, less does not", func(t *testing.T) {
		for left, granted := range map[int]int{15: 15 - 1, 14: 1} { // one is kept back for other programs
			s := newScripted(t)
			s.open(60, left)
			assert.Equal(t, granted, s.want(time.Minute, 20).Reply.Granted, "%d are left", left)
		}
	})
	t.Run("what is reported of an old window changes nothing", func(t *testing.T) {
		s := newScripted(t)
		s.open(41, 40)
		old := s.want(0, 2)
		s.want(time.Minute, 3)
		late := s.send(0, ratelimit.Exchange{Counted: old.Reply.Epoch, Done: 2})
		assert.Equal(t, 38-3, late.Reply.Left)
	})
	t.Run("a spent permit counts, whatever an earlier response shows", func(t *testing.T) {
		s := newScripted(t)
		s.open(11, 10)
		x := s.want(0, 3)
		s.send(0, ratelimit.Exchange{Counted: x.Reply.Epoch, Spent: 2})
		assert.Equal(t, 10-2, s.response(x, 11, 9).Reply.Left)
	})
	t.Run("a first request without a response is followed by another one after a second", func(t *testing.T) {
		s := newScripted(t)
		x := s.want(0, 5)
		assert.Equal(t, 1, x.Reply.Granted)
		s.send(0, ratelimit.Exchange{Counted: x.Reply.Epoch, Spent: 1, Silent: true})
		assert.Zero(t, s.want(999*time.Millisecond, 5).Reply.Granted)
		assert.Equal(t, 1, s.want(time.Millisecond, 5).Reply.Granted)
	})
	t.Run("after a lockout one request goes ahead, and another one after ten seconds", func(t *testing.T) {
		s := newScripted(t)
		s.open(41, 40)
		s.send(0, ratelimit.Exchange{Rejected: true, ClosedIn: 20 * time.Second})
		assert.Zero(t, s.want(20*time.Second-1, 5).Reply.Granted)
		assert.Equal(t, 1, s.want(time.Millisecond, 5).Reply.Granted)
		assert.Zero(t, s.want(9999*time.Millisecond, 5).Reply.Granted)
		assert.Equal(t, 1, s.want(time.Millisecond, 5).Reply.Granted)
	})
	t.Run("a process gets twice its share of what is left", func(t *testing.T) {
		s := newScripted(t)
		s.open(44, 43)
		for range 3 { // processes that have not asked in this window
			s.send(0, ratelimit.Exchange{Want: 1})
		}
		assert.Equal(t, 2*40/4, s.send(0, ratelimit.Exchange{Want: 60}).Reply.Granted)
	})
	t.Run("a process that asks no more counts half as much in each window", func(t *testing.T) {
		s := newScripted(t)
		s.open(61, 60)
		for range 4 {
			s.send(0, ratelimit.Exchange{Want: 1})
		}
		var processes []int
		for range 3 {
			processes = append(processes, s.send(time.Minute, ratelimit.Exchange{Want: 1}).Reply.Processes)
		}
		assert.Equal(t, []int{4, 2, 1}, processes)
	})
	t.Run("what other programs have probably sent is kept back", func(t *testing.T) {
		s := newScripted(t)
		s.open(60, 59)
		s.now = s.now.Add(30 * time.Second)
		s.response(s.want(0, 1), 60, 38) // others sent 20 in 30 s
		assert.Equal(t, 38-8-5, s.want(10*time.Second, 5).Reply.Left, "1.5 × 20 × 10 s/40 s = 7.5")
	})
	t.Run("each Reopen has a later time", func(t *testing.T) {
		s := newScripted(t)
		s.open(1, 0)
		first := s.send(0, ratelimit.Exchange{Reopen: true}).Reply.Opened
		assert.Greater(t, s.send(0, ratelimit.Exchange{Reopen: true}).Reply.Opened, first)
	})
	t.Run("a pot of the future, or older than what a process knows, is replaced", func(t *testing.T) {
		for field, order := range map[string]ratelimit.Exchange{"at": {}, "number": {Number: 1_000_000_100_000}} {
			s := newScripted(t)
			s.open(60, 59)
			if field == "at" {
				s.redis.HSet(s.redis.Keys()[0], field, "1000000001001") // more than a second ahead
			}
			assert.False(t, s.send(0, order).Reply.Known, field)
		}
	})
	t.Run("in a new pot nothing goes ahead before the other processes have come back", func(t *testing.T) {
		s := newScripted(t)
		s.send(0, ratelimit.Exchange{Number: 7})
		assert.Zero(t, s.want(1499*time.Millisecond, 1).Reply.Granted)
		assert.Equal(t, 1, s.want(time.Millisecond, 1).Reply.Granted)
	})
}

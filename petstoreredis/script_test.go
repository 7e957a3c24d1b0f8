package petstoreredis

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// SetClock replaces the wall clock, for tests with a machine that is suspended.
func (l *Limiter) SetClock(now func() time.Time) { l.now = now }

// scripted is a pot in a Redis whose clock is under the test's control. The processes that share it
// are only in the orders that the tests send.
type scripted struct {
	t          *testing.T
	redis      *miniredis.Miniredis
	limiter    *Limiter
	now        time.Time
	last       reply
	asked, had int64 // of the process that ask stands for
}

// send sends an order after a time.
func (s *scripted) send(after time.Duration, o order) reply {
	s.t.Helper()
	s.now = s.now.Add(after)
	s.redis.SetTime(s.now)
	if o.Outcomes == nil {
		o.Outcomes = []outcome{} // the script wants a list
	}
	var err error
	s.last, err = s.limiter.run(s.t.Context(), "key", &o)
	require.NoError(s.t, err)
	return s.last
}

// ask returns how many of n permits a process gets that has asked before.
func (s *scripted) ask(after time.Duration, n int) int {
	s.t.Helper()
	r := s.send(after, order{Want: [2]int{n}, Asked: s.asked, Had: s.had})
	if s.asked != r.Epoch {
		s.asked, s.had = r.Epoch, 0
	}
	s.had += int64(r.Granted[0])
	return r.Granted[0]
}

// outcome is the outcome of the last permit, with a window that ends at the next full minute.
func (s *scripted) outcome(limit, remaining int) outcome {
	end := s.now.Truncate(time.Minute).Add(time.Minute)
	return outcome{
		Number: s.last.Number, Epoch: s.last.Epoch, Limit: limit, Remaining: remaining,
		Reset: end.Unix(), EndsIn: end.Sub(s.now).Milliseconds(),
	}
}

// respond reports outcomes.
func (s *scripted) respond(outcomes ...outcome) reply {
	s.t.Helper()
	return s.send(0, order{Outcomes: outcomes})
}

// open begins a window with a first response.
func (s *scripted) open(limit, remaining int) {
	s.t.Helper()
	s.ask(0, 1)
	s.respond(s.outcome(limit, remaining))
}

func TestScript(t *testing.T) {
	const ms, second, minute = time.Millisecond, time.Second, time.Minute
	for name, test := range map[string]struct {
		do   func(s *scripted) any
		want any
	}{
		"a quarter of the limit goes over to the next window": {func(s *scripted) any {
			s.open(60, 15)
			return s.ask(minute, 20)
		}, 15 - 1}, // one is kept back for other programs
		"less than a quarter does not": {func(s *scripted) any {
			s.open(60, 14)
			return s.ask(minute, 20)
		}, 1},
		"an outcome of an old window changes nothing": {func(s *scripted) any {
			s.open(41, 40)
			s.ask(0, 2)
			old := outcome{Number: s.last.Number, Epoch: s.last.Epoch, Spent: true}
			s.ask(minute, 3)
			return s.respond(old).Left
		}, 38 - 3},
		"a spent permit counts, whatever an earlier response shows": {func(s *scripted) any {
			s.open(11, 10)
			s.ask(0, 3)
			lost, earlier := outcome{Number: s.last.Number, Epoch: s.last.Epoch, Spent: true}, s.outcome(11, 9)
			s.respond(lost, lost)
			return s.respond(earlier).Left
		}, 10 - 2},
		"a first request without a response is followed by another one after a second": {func(s *scripted) any {
			first := s.ask(0, 5)
			s.respond(outcome{Number: s.last.Number, Epoch: s.last.Epoch, Spent: true, Silent: true})
			return []int{first, s.ask(999*ms, 5), s.ask(ms, 5)}
		}, []int{1, 0, 1}},
		"after a lockout one request goes ahead, and another one after ten seconds": {func(s *scripted) any {
			s.open(41, 40)
			s.ask(0, 1)
			rejected := s.outcome(41, 39)
			rejected.ClosedIn = 20_000
			s.respond(rejected)
			return []int{s.ask(20*second-ms, 5), s.ask(ms, 5), s.ask(9999*ms, 5), s.ask(ms, 5)}
		}, []int{0, 1, 0, 1}},
		"a process gets its share in a second, twice that in two, then twice its share of what is left": {func(s *scripted) any {
			s.open(100, 99)
			for range 2 {
				s.send(0, order{Want: [2]int{10}})
			}
			return []int{s.ask(0, 99), s.ask(second, 99), s.ask(second, 99)}
		}, []int{33, 34, 8}},
		"a process that asks no more counts half as much in each window": {func(s *scripted) any {
			s.open(61, 60)
			for range 3 {
				s.send(0, order{Want: [2]int{1}})
			}
			var processes []int
			for range 3 {
				s.ask(minute, 1)
				processes = append(processes, s.last.Processes)
			}
			return processes
		}, []int{4, 2, 1}},
		"what other programs have probably sent is kept back": {func(s *scripted) any {
			s.open(60, 59)
			s.ask(30*second, 1)
			s.respond(s.outcome(60, 38)) // others have sent 20 in 30 s
			s.ask(10*second, 5)
			return s.last.Left
		}, 38 - 8 - 5}, // 1.5 × 20 × 10 s/40 s = 7.5
		"background requests leave a tenth, if others were there": {func(s *scripted) any {
			s.open(100, 99)
			return []int{
				s.send(3*second, order{Want: [2]int{0, 100}}).Granted[1],
				s.send(0, order{Want: [2]int{0, 100}, Number: s.last.Number}).Granted[1],
			}
		}, []int{89, 0}},
		"background requests that are alone leave nothing": {func(s *scripted) any {
			s.send(0, order{Want: [2]int{0, 1}})
			s.respond(s.outcome(100, 99))
			return s.send(3*second, order{Want: [2]int{0, 100}}).Granted[1]
		}, 99},
		"permits that die with a process come back in a window of a day": {func(s *scripted) any {
			s.ask(0, 1)
			o := s.outcome(1000, 500)
			o.EndsIn = 3_600_000
			s.respond(o)
			s.ask(0, 400)
			return s.respond().Left + s.send(minute, order{}).Left
		}, 100 - 1 + 1}, // one is kept back for other programs; one request goes ahead
		"a pot that nobody reached for a second is replaced by a process that was alone": {func(s *scripted) any {
			s.open(60, 59)
			return s.send(1001*ms, order{Number: s.last.Number, Alone: true}).Since
		}, int64(0)},
		"responses are awaited for two seconds, and then the end of the window": {func(s *scripted) any {
			s.open(4, 3)
			s.ask(3*second, 3)
			s.ask(1999*ms, 1)
			why := s.last.Why
			s.ask(ms, 1)
			return []int{why, s.last.Why}
		}, []int{3, 0}},
		"in a new pot nothing goes ahead before the other processes have come back": {func(s *scripted) any {
			s.send(0, order{Number: 7})
			return []int{s.ask(1499*ms, 1), s.ask(ms, 1)}
		}, []int{0, 1}},
		"a new pot believes that a window is used up, and that the key is closed": {func(s *scripted) any {
			known := s.outcome(60, 0)
			known.Number, known.Epoch, known.ClosedIn, known.Lock = 0, 0, 3_600_000, 2
			s.respond(known)
			s.ask(minute, 1)
			return []int64{int64(s.last.Granted[0]), int64(s.last.Why), s.last.Wait}
		}, []int64{0, 2, 3_540_000}},
	} {
		t.Run(name, func(t *testing.T) {
			r := miniredis.RunT(t)
			rdb := redis.NewClient(&redis.Options{Addr: r.Addr()})
			t.Cleanup(func() { _ = rdb.Close() })
			s := &scripted{t: t, redis: r, limiter: &Limiter{rdb: rdb}, now: time.Unix(999_999_960, 0)}
			assert.Equal(t, test.want, test.do(s))
		})
	}
}

package petstore

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// windowKind is how the modelled service counts.
type windowKind string

const (
	windowFixed   windowKind = "fixed"   // begun by its first request, on a whole second
	windowAligned windowKind = "aligned" // the wall-clock minute and day
	windowSliding windowKind = "sliding" // Reset tells when the oldest request leaves
	windowDrained windowKind = "drained" // the same, but Reset tells when the newest leaves
)

// quota counts the requests of one window of the modelled service.
type quota struct {
	kind   windowKind
	limit  int // 0: none
	length time.Duration
	start  time.Time
	count  int
	hits   []time.Time // of a sliding window
}

// roll forgets what is over at now.
func (q *quota) roll(now time.Time) {
	switch q.kind {
	case windowSliding, windowDrained:
		for len(q.hits) > 0 && !now.Before(q.hits[0].Add(q.length)) {
			q.hits = q.hits[1:]
		}
		q.count = len(q.hits)
	case windowAligned:
		if start := now.Truncate(q.length); !start.Equal(q.start) {
			q.start, q.count = start, 0
		}
	default:
		if q.start.IsZero() || !now.Before(q.start.Add(q.length)) {
			q.start, q.count = now.Truncate(time.Second), 0
		}
	}
}

func (q *quota) left() int { return max(0, q.limit-q.count) }

func (q *quota) take(now time.Time) {
	q.count++
	if q.kind == windowSliding || q.kind == windowDrained {
		q.hits = append(q.hits, now)
	}
}

// free is when the next request fits.
func (q *quota) free(now time.Time) time.Time {
	switch {
	case q.kind != windowSliding && q.kind != windowDrained:
		return q.start.Add(q.length)
	case len(q.hits) == 0:
		return now
	}
	return q.hits[max(0, len(q.hits)-q.limit)].Add(q.length)
}

func (q *quota) reset(now time.Time) time.Time {
	switch {
	case q.kind == windowDrained && len(q.hits) > 0:
		return q.hits[len(q.hits)-1].Add(q.length)
	case q.kind == windowSliding && len(q.hits) > 0:
		return q.hits[0].Add(q.length)
	}
	return q.free(now)
}

// service is a small exact model of the service's limits (section 8), by its own clock.
type service struct {
	mu          sync.Mutex
	now         func() time.Time
	minute, day quota
	skew        time.Duration
	banAfter    int // the request that bans, of those refused in a row; 0: never
	banned      time.Time
	inRow       int

	noHeaders, noDate, noRetryAfter, dateRetryAfter bool

	lieReset func(now, reset time.Time) time.Time

	served, rejected, bans int
	worst                  int // rejections in the worst window; of a sliding one, minute
	worstFrom              time.Time
	worstCount             int
	sent                   []time.Time // arrivals
}

func newService(kind windowKind, limit int) *service {
	return &service{
		now:    time.Now,
		minute: quota{kind: kind, limit: limit, length: time.Minute},
		day:    quota{kind: kind, limit: 1 << 30, length: 24 * time.Hour},
	}
}

// setLimit changes the plan.
func (s *service) setLimit(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.minute.limit = limit
}

// room is how many requests the service would take now.
func (s *service) room() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now().Add(s.skew)
	s.minute.roll(now)
	s.day.roll(now)
	return min(s.minute.left(), s.day.left())
}

// answer is what the service says to a request that arrives now.
func (s *service) answer() Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now().Add(s.skew)
	s.sent = append(s.sent, s.now())
	s.minute.roll(now)
	s.day.roll(now)
	o := Observation{StatusCode: http.StatusOK}
	tight := &s.minute
	if s.day.left() < s.minute.left() {
		tight = &s.day
	}
	switch until := s.refusedUntil(now, tight); {
	case until.IsZero():
		s.minute.take(now)
		s.day.take(now)
		s.served, s.inRow = s.served+1, 0
		tight = &s.minute
		if s.day.left() < s.minute.left() {
			tight = &s.day
		}
	default:
		o.StatusCode = http.StatusTooManyRequests
		o.RetryAfter = s.retryAfter(now, until)
	}
	if !s.noHeaders {
		o.RateLimit = RateLimit{tight.limit, tight.left(), ceilSecond(tight.reset(now))}
		if s.lieReset != nil {
			o.RateLimit.Reset = s.lieReset(now, o.RateLimit.Reset)
		}
	}
	if !s.noDate {
		o.Date = now.Truncate(time.Second)
	}
	return o
}

// refusedUntil counts a refusal, and tells until when requests are refused; zero if this one is not.
func (s *service) refusedUntil(now time.Time, tight *quota) time.Time {
	banned := now.Before(s.banned)
	if !banned && tight.left() > 0 {
		return time.Time{}
	}
	s.rejected++
	from := now.Truncate(time.Minute)
	if s.minute.kind == windowFixed {
		from = s.minute.start
	}
	if !from.Equal(s.worstFrom) {
		s.worstFrom, s.worstCount = from, 0
	}
	s.worstCount++
	s.worst = max(s.worst, s.worstCount)
	if banned {
		return s.banned
	}
	if s.inRow++; s.inRow == s.banAfter {
		s.bans++
		s.banned = now.Add(5 * time.Minute)
		return s.banned
	}
	return tight.free(now)
}

// retryAfter is what a client reads from the header.
func (s *service) retryAfter(now, until time.Time) time.Duration {
	switch {
	case s.noRetryAfter:
		return 0
	case s.dateRetryAfter:
		return ceilSecond(until).Sub(now.Truncate(time.Second))
	}
	return max(time.Second, ceilDuration(until.Sub(now)))
}

func ceilSecond(t time.Time) time.Time { return t.Add(time.Second - 1).Truncate(time.Second) }

func ceilDuration(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// network is what lies between a caller and the service.
type network struct {
	latency, jitter time.Duration // one answer takes latency + up to jitter
	lose, dial      float64       // chance that an answer is lost, that nothing is sent
}

// usual is a network with answers after 20 to 200 ms.
func usual() network { return network{latency: 20 * time.Millisecond, jitter: 180 * time.Millisecond} }

func (n network) mean() time.Duration { return n.latency + n.jitter/2 }

// carry takes a permitted request to the service and its answer back.
func (n network) carry(s *service, rng *rand.Rand) Observation {
	if n.dial > 0 && rng.Float64() < n.dial {
		time.Sleep(n.latency)
		return Observation{}
	}
	sent := time.Now()
	whole := n.latency + time.Duration(rng.Int64N(int64(n.jitter)+1))
	there := time.Duration(rng.Int64N(int64(whole) + 1))
	time.Sleep(there)
	o := s.answer()
	time.Sleep(whole - there)
	if n.lose > 0 && rng.Float64() < n.lose {
		return Observation{Sent: sent}
	}
	o.Sent, o.Received = sent, time.Now()
	return o
}

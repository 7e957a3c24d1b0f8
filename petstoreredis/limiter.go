package petstoreredis

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/petstore/petstore-go"
)

// Limiter is a [petstore.Limiter] whose budget every process shares that gives the same name to the same Redis.
// [NewLimiter] makes one; give it to all clients of the key in this process through [petstore.WithLimiter]. It is safe
// for concurrent use and needs no closing: at rest it has neither goroutine nor timer. The client of Redis belongs
// to the caller, who closes it.
type Limiter struct {
	store  store
	config config
	id     string // of this party, new for every Limiter

	mu     sync.Mutex
	known  knowledge
	offset offset
	last   petstore.Observation // the last answer with a limit, of the latest window

	line  line
	turns uint64 // given so far

	unused   []slot    // permits that nobody has asked for yet
	until    time.Time // the lease of all that is held
	granted  int       // at a time, last
	since    time.Time // of that
	taken    time.Time // when the last of them was asked for
	inFlight int
	idle     time.Time // since the last answer
	probing  int       // of those in flight

	courier
	timer  *time.Timer
	wakeAt time.Time
	away   *fallback // nil while Redis answers
}

var _ petstore.Limiter = (*Limiter)(nil)

// permit is leave to send one request.
type permit struct {
	limiter  *Limiter
	slot     slot
	late     bool // the window was over
	released bool
}

// NewLimiter returns a limiter whose state is kept by rdb under a name, such as that of the key's owner and plan. All
// limiters with one name share one budget; the processes of a fleet must use the same version of this package.
// Only a hash of the name leaves the process, so that it may even be the API key.
//
// NewLimiter does no I/O. It fails with a [petstore.ArgumentError] if rdb is nil, the name is empty, or an option is
// wrong.
func NewLimiter(rdb redis.UniversalClient, name string, opts ...Option) (*Limiter, error) {
	if v := reflect.ValueOf(rdb); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, argumentError("rdb", "is nil")
	}
	if name == "" {
		return nil, argumentError("name", "is empty")
	}
	config := defaults()
	for _, opt := range opts {
		if opt == nil {
			return nil, argumentError("opts", "has a nil option")
		}
		opt(&config)
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(name))
	return &Limiter{
		store:  newStore(rdb, config.prefix, hex.EncodeToString(hash[:])),
		config: config,
		id:     rand.Text(),
	}, nil
}

// RateLimit implements [petstore.Limiter]. It asks nobody.
func (l *Limiter) RateLimit() petstore.RateLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known.rateLimit
}

// Acquire implements [petstore.Limiter]. What Redis takes to answer, [WithTimeout] at the most, is not part of
// maxWait: with 0, a call that finds room at once is admitted.
func (l *Limiter) Acquire(ctx context.Context, maxWait time.Duration) (petstore.Permit, error) {
	w := l.newWaiter(ctx, maxWait)
	for {
		p, f, err := l.enter(ctx, w)
		switch {
		case err != nil:
			return nil, err
		case p != nil:
			return p, nil
		case f != nil:
			p, err = f.acquire(ctx, l, w)
		default:
			p, err = l.await(ctx, w)
		}
		if p != nil || err != nil {
			return p, err
		}
	}
}

// Flush tells Redis what this process has done, and gives back what it has reserved and not used. It is for programs
// that end right after their last call, so that the others need not wait for the end of the lease; otherwise it is
// done a moment later anyway. While Redis is away Flush does nothing. The error is that of Redis.
func (l *Limiter) Flush(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.quiet(ctx)
	if err == nil && l.away == nil {
		err = l.tell(ctx)
	}
	if err != nil {
		return fmt.Errorf("petstoreredis: flush: %w", err)
	}
	return nil
}

// newWaiter gives a call its turn, which it keeps however often it has to move.
func (l *Limiter) newWaiter(ctx context.Context, maxWait time.Duration) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns++
	return newWaiter(ctx, turn{isFirst(ctx), l.turns}, time.Now(), maxWait)
}

// enter gives a permit, the fallback to ask, an error, or none of them and a place in the line.
func (l *Limiter) enter(ctx context.Context, w *waiter) (petstore.Permit, *fallback, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if end := endOf(ctx); end != nil {
		return nil, nil, l.ended(now, end)
	}
	if l.away != nil {
		if !now.Before(l.away.tryAt) {
			l.speak(now)
		}
		if l.away != nil {
			return nil, l.away, nil
		}
	}
	l.expire(now)
	next, ahead := l.line.ahead(w.turn)
	if next == nil && ahead == 0 && len(l.unused) > 0 {
		return l.take(now), nil, nil
	}
	if at := l.known.earliest(now, ahead); w.late(at) && at.After(now) {
		return nil, nil, l.known.refusal(now, at)
	}
	l.line.enter(w)
	l.dispatch(now)
	return nil, nil, nil
}

// await waits for what the line has for w, unless its time or its context ends before. It returns neither permit nor
// error if the call has to ask elsewhere.
func (l *Limiter) await(ctx context.Context, w *waiter) (petstore.Permit, error) {
	timer := time.NewTimer(max(time.Until(w.deadline), l.config.timeout))
	defer timer.Stop()
	select {
	case <-w.ready:
	case <-timer.C:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if end := endOf(ctx); end != nil { // also if the permit came at the same instant
		l.withdraw(w, now)
		return nil, l.ended(now, end)
	}
	switch {
	case w.permit != nil:
		return w.permit, nil
	case w.refused != nil:
		return nil, w.refused
	case w.moved:
		w.moved = false
		return nil, nil //nolint:nilnil // ask elsewhere
	}
	l.withdraw(w, now)
	return nil, l.known.refusal(now, l.known.earliest(now, 0))
}

// Release implements [petstore.Permit].
func (p *permit) Release(o petstore.Observation) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.released {
		return
	}
	now := time.Now()
	l.giveBack(p)
	l.idle = now
	switch {
	case !o.Sent.IsZero() || p.slot.Probe:
		l.settle(p.slot, p.late, o)
	case l.away == nil:
		l.unused = append(l.unused, p.slot)
	}
	l.dispatch(now)
}

// take makes a permit of what nobody has asked for yet.
func (l *Limiter) take(now time.Time) *permit {
	s := l.unused[0]
	l.unused = l.unused[1:]
	l.taken = now
	l.inFlight++
	if s.Probe {
		l.probing++
	}
	return &permit{limiter: l, slot: s, late: s.Probe || !now.Before(l.known.ends)}
}

// giveBack ends what take began.
func (l *Limiter) giveBack(p *permit) {
	p.released = true
	l.inFlight--
	if p.slot.Probe {
		l.probing--
	}
}

// settle notes what became of a request.
func (l *Limiter) settle(s slot, late bool, o petstore.Observation) {
	l.offset.narrow(o)
	r := newReport(s, late, o, l.offset)
	if r.Rejected {
		l.unused = nil // the gate is closed, whatever there was room for
	}
	shown := l.known.rateLimit
	news := s.Urgent || r.Unsent || r.Rejected ||
		r.Limit > 0 && (r.Limit != shown.Limit || o.RateLimit.Reset.Sub(shown.Reset) > sameWindow)
	if r.Limit > 0 {
		l.known.sees(o.RateLimit)
		if !o.RateLimit.Reset.Before(l.last.RateLimit.Reset) {
			l.last = o
		}
	}
	l.report(r)
	l.urgent = l.urgent || news || l.anyAnswer && l.line.len() > 0
}

// dispatch gives permits to the first of the line, as many as there are, and has Redis told and asked what is due.
func (l *Limiter) dispatch(now time.Time) {
	l.expire(now)
	l.line.each(func(w *waiter, ahead int) {
		if ahead == 0 && len(l.unused) > 0 {
			w.permit = l.take(now)
			l.line.leave(w)
		}
	})
	if at, ok := l.due(); ok && !l.busy && !now.Before(at) {
		l.speak(now)
	}
	l.arm(now)
}

// refuse sends away who cannot be served in time any more, and who has asked in vain and does not want to wait.
func (l *Limiter) refuse(now time.Time, seq int, denied bool) {
	l.line.each(func(w *waiter, ahead int) {
		at := l.known.earliest(now, ahead)
		if w.late(at) && at.After(now) || denied && !w.patient && w.asked == seq {
			w.refused = l.known.refusal(now, at)
			l.line.leave(w)
		}
	})
}

// withdraw takes back what w waited for.
func (l *Limiter) withdraw(w *waiter, now time.Time) {
	switch {
	case w.permit != nil:
		l.giveBack(w.permit)
		l.unused = append(l.unused, w.permit.slot)
	case w.place != nil:
		l.line.leave(w)
	}
	l.dispatch(now)
}

// expire forgets what the lease does not cover any more: Redis takes it for lost.
func (l *Limiter) expire(now time.Time) {
	if !now.Before(l.until) {
		l.unused = nil
	}
}

// ended is the error for a call whose context has ended.
func (l *Limiter) ended(now time.Time, end error) error {
	e := l.known.refusal(now, l.known.earliest(now, 0))
	e.Err = end
	return e
}

// arm has a look taken again when something is due, and not otherwise.
func (l *Limiter) arm(now time.Time) {
	at, ok := l.due()
	if !ok || l.busy { // its answer will be a look
		at = time.Time{}
	}
	if at.Equal(l.wakeAt) {
		return
	}
	if l.timer != nil {
		l.timer.Stop() // in vain if it has just fired: looking once more does no harm
		l.timer = nil
	}
	l.wakeAt = at
	if !at.IsZero() {
		l.timer = time.AfterFunc(at.Sub(now), l.wake)
	}
}

func (l *Limiter) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer, l.wakeAt = nil, time.Time{}
	l.dispatch(time.Now())
}

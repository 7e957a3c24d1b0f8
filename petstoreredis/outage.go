package petstoreredis

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/petstore/petstore-go"
)

const (
	// tryEvery is the time between two commands while Redis is away.
	tryEvery = time.Second
	// unknownShare is the number of processes if nobody knows it.
	unknownShare = 64
	// Of outages that follow each other, so many are logged, then one in so long.
	linesAtOnce, lineEvery = 3, 10 * time.Minute
)

// outage is a time without Redis. The process goes on with a limiter of its own, which knows how
// many share the key, and what was left of the pot.
type outage struct {
	since   time.Time
	err     error // why it began
	limiter petstore.Limiter
	ctx     context.Context // ends the waits for limiter
	end     context.CancelFunc
	waiting int       // calls that wait for limiter
	tryAt   time.Time // when to send the next command
	logged  bool
}

// startOutage starts an outage, or goes on with it.
func (l *Limiter) startOutage(now time.Time, err error) {
	if l.outage != nil {
		l.outage.tryAt = now.Add(tryEvery)
		return
	}
	n := cmp.Or(l.config.share, l.pot.Processes, unknownShare)
	o := &outage{since: now, err: err, limiter: petstore.NewLimiter(petstore.Processes(n)), tryAt: now.Add(tryEvery)}
	o.ctx, o.end = context.WithCancel(context.Background())
	l.outage = o
	l.stats.Fallbacks++
	if l.pot.Scope != "" && now.Before(l.heard.Add(l.pot.ends())) {
		l.prime(o.limiter)
	}
	if o.logged = l.lines.AllowN(now, 1); o.logged {
		l.log(slog.LevelWarn, "petstoreredis: redis is away, this process keeps to its share",
			slog.String("error", err.Error()), slog.Int("processes", n))
	}
	l.wakeAll()
}

// prime tells the process's own limiter what was left of the pot, as a response would.
func (l *Limiter) prime(own petstore.Limiter) {
	p, _ := own.Acquire(context.Background(), petstore.LimitRequest{}) // the first one neither waits nor fails
	o := petstore.Observation{Delivery: petstore.DeliveryAnswered, Sent: l.heard, Received: l.heard}
	if l.pot.Reset > 0 {
		reset := time.Unix(l.pot.Reset, 0).UTC()
		o.StatusCode, o.Date = http.StatusOK, reset.Add(-l.pot.ends())
		o.RateLimit = petstore.RateLimit{Limit: l.pot.Limit, Remaining: l.pot.free(), Reset: reset}
	} else {
		o.StatusCode, o.RetryAfter = http.StatusTooManyRequests, l.pot.ends()
	}
	p.Release(o)
}

// endOutage ends an outage, if there is one. The calls that wait for the process's own limiter come
// back to the queue.
func (l *Limiter) endOutage(now time.Time) {
	o := l.outage
	if o == nil {
		return
	}
	l.outage = nil
	o.end()
	away := now.Sub(o.since)
	l.stats.AwayFor += away
	if o.logged {
		l.log(slog.LevelInfo, "petstoreredis: redis is back", slog.Duration("away", away))
	}
}

// log logs on a goroutine of its own, because the user's handler may call the limiter.
func (l *Limiter) log(level slog.Level, text string, fields ...slog.Attr) {
	if l.config.logger != nil {
		fields = append(fields, slog.String("name", l.stats.Name))
		go l.config.logger.LogAttrs(context.Background(), level, text, fields...)
	}
}

// acquireAlone gets a permit from the process's own limiter. It returns neither a permit nor an
// error if Redis is back.
func (l *Limiter) acquireAlone(ctx context.Context, w *waiter) (petstore.Permit, error) {
	o, r, begun := w.outage, w.request, time.Now()
	if !w.limited.IsZero() {
		r.MaxWait = max(0, r.MaxWait-begun.Sub(w.limited))
	}
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.ctx, cancel)()
	p, err := o.limiter.Acquire(own, r)
	l.mu.Lock()
	defer l.mu.Unlock()
	o.waiting--
	switch {
	case err == nil:
		l.stats.InFlight++
		return &permit{limiter: l, alone: p}, nil
	case o.ctx.Err() != nil && ctx.Err() == nil:
		if w.limited.IsZero() {
			w.limited = begun // this counts as a wait for a limit
		}
		return nil, nil // as documented
	}
	return nil, err
}

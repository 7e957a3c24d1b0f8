package petstoreredis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"

	"github.com/petstore/petstore-go/ratelimit"
)

const (
	// unknownShare is the number of processes if nobody knows it.
	unknownShare = 64
	// connects is how many times as long the first command may take.
	connects = 3
	// Of outages that follow each other, so many are logged, then one in so long.
	linesAtOnce, lineEvery = 3, 10 * time.Minute
)

// pot is the way to Redis.
type pot struct {
	rdb        redis.UniversalClient
	hash       string // of the script
	config     config
	roundTrips atomic.Int64

	mu        sync.Mutex
	processes int       // by the last reply
	connected bool      // Redis has replied
	away      time.Time // since when it is away; zero if it is not
	logged    bool      // that it is
	counts    Stats
	lines     *rate.Limiter
}

func newPot(rdb redis.UniversalClient, c config) *pot {
	p := &pot{rdb: rdb, hash: redis.NewScript(potScript).Hash(), config: c, processes: c.share}
	if p.processes == 0 {
		p.processes = unknownShare
	}
	p.lines = rate.NewLimiter(rate.Every(lineEvery), linesAtOnce)
	return p
}

// exchange is that of [ratelimit.Shared]. A connection that has broken is a reason to try once more.
func (p *pot) exchange(ctx context.Context, x *ratelimit.Exchange) error {
	timeout, connected := p.timeout()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no reply within %v", p.config.timeout))
	defer cancel()
	err := p.run(ctx, connected, x)
	for again := true; err != nil; again = false {
		if reply, ok := errors.AsType[redis.Error](err); ok {
			err = reply
			break // the script has not run, or has changed nothing
		}
		x.Done, x.Spent = 0, 0 // Redis may have counted them: they are not free before the window is over
		if ctx.Err() != nil || !again {
			break
		}
		err = p.run(ctx, connected, x)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	p.note(x, err, time.Now())
	if err != nil {
		return fmt.Errorf("petstoreredis: %w", err)
	}
	if p.config.share > 0 {
		x.Reply.Processes = p.config.share
	}
	return nil
}

// timeout returns how long an exchange may take, and whether Redis has replied before.
func (p *pot) timeout() (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.connected {
		return p.config.timeout, true
	}
	return connects * p.config.timeout, false
}

// note records how an exchange went.
func (p *pot) note(x *ratelimit.Exchange, err error, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.connected, p.processes = true, x.Reply.Processes
		if !p.away.IsZero() {
			p.back(now)
		}
	case p.away.IsZero():
		p.away = now
		p.counts.Fallbacks++
		if p.logged = p.lines.AllowN(now, 1); p.logged {
			p.log(slog.LevelWarn, "petstoreredis: redis is away, this process keeps to its share",
				slog.String("error", err.Error()), slog.Int("processes", p.processes))
		}
	}
}

// back records that Redis has replied again.
func (p *pot) back(now time.Time) {
	away := now.Sub(p.away)
	p.away = time.Time{}
	p.counts.AwayFor += away
	if p.logged {
		p.log(slog.LevelInfo, "petstoreredis: redis is back", slog.Duration("away", away))
	}
}

// log logs on a goroutine of its own, because the user's handler may call the limiter.
func (p *pot) log(level slog.Level, text string, fields ...slog.Attr) {
	if p.config.logger != nil {
		go p.config.logger.LogAttrs(context.Background(), level, text, fields...)
	}
}

package petstoreredis

import (
	"cmp"
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
	// connects is how many times as long the first command may take, since it connects.
	connects = 3
	// If outages follow each other, the first three are logged, and then one in ten minutes.
	linesAtOnce, lineEvery = 3, 10 * time.Minute
)

// pot sends the commands to Redis, and knows whether Redis is away.
type pot struct {
	rdb        redis.UniversalClient
	hash       string // of the script
	config     config
	roundTrips atomic.Int64

	mu        sync.Mutex
	processes int       // by the last reply
	connected bool      // Redis has replied
	away      time.Time // since when it is away; zero if it is not
	logged    bool      // whether the outage was logged
	counts    Stats
	lines     *rate.Limiter
}

func newPot(rdb redis.UniversalClient, c config) *pot {
	return &pot{
		rdb: rdb, hash: redis.NewScript(potScript).Hash(), config: c, processes: cmp.Or(c.share, unknownShare),
		lines: rate.NewLimiter(rate.Every(lineEvery), linesAtOnce),
	}
}

// exchange is the function that [ratelimit.Shared] needs.
func (p *pot) exchange(ctx context.Context, x *ratelimit.Exchange) error {
	timeout, connected := p.timeout()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no reply within %v", p.config.timeout))
	defer cancel()
	own, done := *x, make(chan error, 1)
	go func() { done <- p.try(ctx, connected, &own) }() // the client of Redis may ignore ctx
	var err error
	select {
	case err = <-done:
		*x = own
	case <-ctx.Done():
		x.Done, x.Spent = 0, 0
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

// try runs the script, once more if the connection broke. Redis may have counted the report of the
// command that failed, so the second try reports nothing as done: these permits are free again only
// when the window is over.
func (p *pot) try(ctx context.Context, connected bool, x *ratelimit.Exchange) error {
	for again := true; ; again = false {
		err := p.run(ctx, connected, x)
		if _, refused := errors.AsType[redis.Error](err); err == nil || refused { // a refused command has counted nothing
			return err
		}
		if x.Done, x.Spent = 0, 0; !again || ctx.Err() != nil {
			return err
		}
	}
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
		if away := now.Sub(p.away); !p.away.IsZero() {
			p.away = time.Time{}
			p.counts.AwayFor += away
			p.log(slog.LevelInfo, "petstoreredis: redis is back", slog.Duration("away", away))
		}
	case p.away.IsZero():
		p.away = now
		p.counts.Fallbacks++
		p.logged = p.config.logger != nil && p.lines.AllowN(now, 1)
		p.log(slog.LevelWarn, "petstoreredis: redis is away, this process keeps to its share",
			slog.String("error", err.Error()), slog.Int("processes", p.processes))
	}
}

// log logs about an outage, unless there were many. It uses a goroutine of its own, because the
// user's handler may call the limiter.
func (p *pot) log(level slog.Level, text string, fields ...slog.Attr) {
	if p.logged {
		go p.config.logger.LogAttrs(context.Background(), level, text, fields...)
	}
}

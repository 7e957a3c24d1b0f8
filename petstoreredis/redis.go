package petstoreredis

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/petstore/petstore-go/ratelimit"
)

//go:embed pot.lua
var potScript string

var potHash = redis.NewScript(potScript).Hash()

// limits are the reasons for which a key can be closed, by their numbers in the script.
var limits = []ratelimit.Reason{ratelimit.ReasonMinute, ratelimit.ReasonDay, ratelimit.ReasonBan}

func index(limit ratelimit.Reason) int { return max(0, slices.Index(limits, limit)) }

// order is what the script gets. Its times are milliseconds from now.
type order struct {
	Number           int64 // the last permit that this process knows of
	Processes        int   // the number of processes that it knows of
	Alone            bool  // the last command has failed
	Reopen           bool
	Want, Background int   // how many requests wait
	Asked, Had       int64 // the last window in which the process wanted permits, and how many it got
	Outcomes         []outcome
}

// outcome is what came of a permit. Without Number it is no permit's, but what the process knows.
type outcome struct {
	Number, Epoch           int64 // of the permit; Epoch is 0 if it was given without Redis
	Spent, Silent           bool  // the service may have counted it, and does not say so; it did not respond
	Limit, Remaining        int   // the window
	Reset, EndsIn, ClosedIn int64 // ClosedIn is positive after a 429
	Lock                    int   // the index of its reason

	end, until time.Time // of the window, and of the lockout
}

// reply is what the script returns: the numbers of the pot, and what it gives.
type reply struct {
	Number, Epoch, Reset, EndsIn, Since, ClosedIn, Wait int64
	Limit, Remaining, Left, Lock, Streak, Processes     int
	Granted, Background, Why                            int
}

// exchange sends an order to the pot of a key, and calls ended, once, with what came of it.
func (l *Limiter) exchange(key string, o *order, ended func(r reply, err error)) {
	timeout := l.timeout
	if !l.replied {
		timeout *= 3
	}
	ctx, cancel := context.WithCancel(context.Background())
	late := time.AfterFunc(timeout, func() { // the client of Redis may ignore ctx
		cancel()
		ended(reply{}, fmt.Errorf("no reply within %v", l.timeout))
	})
	go func() {
		defer cancel()
		r, err := l.run(ctx, key, o)
		if _, refused := errors.AsType[redis.Error](err); err != nil && !refused && ctx.Err() == nil {
			r, err = l.run(ctx, key, o.uncounted()) // the connection broke
		}
		if late.Stop() {
			ended(r, err)
		}
	}()
}

// uncounted returns an order that counts no permits: Redis may have counted those of o.
func (o *order) uncounted() *order {
	again := *o
	again.Outcomes = slices.Clone(o.Outcomes)
	for i := range again.Outcomes {
		again.Outcomes[i].Epoch = 0
	}
	return &again
}

// run runs the script.
func (l *Limiter) run(ctx context.Context, key string, o *order) (r reply, err error) {
	order, _ := json.Marshal(o) // numbers and booleans: it cannot fail
	do := func(name, script string) (string, error) {
		cmd := redis.NewCmd(ctx, name, script, 1, l.prefix+key, order)
		_ = l.rdb.Process(ctx, once{cmd}) // cmd has the error
		return cmd.Text()
	}
	text, err := do("evalsha", potHash)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		text, err = do("eval", potScript)
	}
	if err != nil {
		return r, err
	}
	if json.Unmarshal([]byte(text), &r) != nil || r.Processes < 1 || r.Lock >= len(limits) ||
		r.Granted > o.Want || r.Background > o.Background {
		err = errors.New("the reply is not one of the script")
	}
	return r, err
}

// once is a command that go-redis must not send again by itself: it might be counted twice.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// note records how a command went, and logs when Redis goes away and when it is back.
func (l *Limiter) note(err error, processes int) {
	l.replied = l.replied || err == nil
	level, text, field := slog.LevelInfo, "petstoreredis: redis is back", slog.Duration("away", time.Since(l.away))
	switch away := !l.away.IsZero(); {
	case away == (err != nil):
		return
	case away:
		l.away = time.Time{}
	default:
		level, text = slog.LevelWarn, "petstoreredis: redis is away, this process keeps to its share"
		field = slog.String("error", err.Error())
		l.away = time.Now()
	}
	if l.logger != nil { // its handler may call the limiter
		l.unlocked(func() {
			l.logger.LogAttrs(context.Background(), level, text, field, slog.Int("processes", processes))
		})
	}
}

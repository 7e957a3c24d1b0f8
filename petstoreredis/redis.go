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

// limitIndex returns the number of a limit; 0 for no limit.
func limitIndex(limit ratelimit.Reason) int { return max(0, slices.Index(limits, limit)) }

// limitAt returns the limit with an index of a reply; a pot that somebody spoilt may have any number.
func limitAt(index int) ratelimit.Reason { return limits[min(max(0, index), len(limits)-1)] }

// command is what the script gets. Its times are milliseconds from now.
type command struct {
	Number         int64 // the last permit that this process knows of
	Processes      int   // the number of processes that it knows of
	Fallback       bool  // the last command has failed
	Reopen         bool
	Want           [2]int    // how many requests wait
	Epoch, Granted int64     // the last window in which the process wanted permits, and how many it got
	Outcomes       []outcome `json:",omitempty"`
	Known          outcome   // of no permit: the window and the lockout that the process knows
}

// outcome is the outcome of a request.
type outcome struct {
	Number, Epoch           int64 // of the permit, 0 without one; Epoch is 0 if it was given without Redis
	Spent, Silent           bool  // the service may have counted it, and does not say so; it did not respond
	Limit, Remaining        int   // the window
	Reset, EndsIn, ClosedIn int64 // ClosedIn is positive after a 429
	Reason                  int   // the index of the limit

	end, until time.Time // of the window, and of the lockout
}

// reply is what the script returns: the numbers of the pot, and what it gives.
type reply struct {
	At, Number, Epoch, Reset, Ends, Closed, Wait      int64
	Limit, Remaining, Left, Streak, Processes, Reason int

	FirstResponse int64  `json:"first_response"` // of the window; 0 before it
	ClosedBy      int    `json:"closed_by"`      // the index of the limit of the last lockout
	Granted       [2]int // as Want
}

// ask sends a command to the pot of a key, and calls ended, once, with the reply or an error.
func (l *Limiter) ask(key string, c *command, ended func(r reply, err error)) {
	timeout := l.timeout
	if !l.replied { // it connects
		timeout *= 3
	}
	ctx, cancel := context.WithCancel(context.Background())
	late := time.AfterFunc(timeout, func() { // the client of Redis may ignore ctx
		cancel()
		ended(reply{}, fmt.Errorf("no reply within %v", timeout))
	})
	go func() {
		defer cancel()
		r, err := l.run(ctx, key, c)
		if _, refused := errors.AsType[redis.Error](err); err != nil && !refused && ctx.Err() == nil {
			c.Outcomes = nil // the connection broke after Redis may have counted them
			r, err = l.run(ctx, key, c)
		}
		if late.Stop() {
			ended(r, err)
		}
	}()
}

// run runs the script.
func (l *Limiter) run(ctx context.Context, key string, c *command) (r reply, err error) {
	argument, _ := json.Marshal(c) // numbers and booleans: it cannot fail
	do := func(name, script string) (string, error) {
		cmd := redis.NewCmd(ctx, name, script, 1, l.prefix+key, argument)
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
	return r, json.Unmarshal([]byte(text), &r)
}

// once is a command that go-redis must not send again by itself: it might be counted twice.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// note records how a command went, and logs when Redis goes away and when it is back.
func (l *Limiter) note(err error, processes int) {
	l.replied = l.replied || err == nil
	began := l.away
	switch {
	case err != nil && began.IsZero():
		l.away = time.Now()
		l.log(slog.LevelWarn, "redis is away, this process keeps to its share", slog.String("error", err.Error()), processes)
	case err == nil && !began.IsZero():
		l.away = time.Time{}
		l.log(slog.LevelInfo, "redis is back", slog.Duration("away", time.Since(began)), processes)
	}
}

// log logs without the lock: the handler may call the limiter.
func (l *Limiter) log(level slog.Level, text string, attr slog.Attr, processes int) {
	if l.logger != nil {
		l.unlocked(func() {
			l.logger.LogAttrs(context.Background(), level, "petstoreredis: "+text, attr, slog.Int("processes", processes))
		})
	}
}

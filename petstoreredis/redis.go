package petstoreredis

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed pot.lua
var potScript string

var potHash = redis.NewScript(potScript).Hash()

// do sends a command to the pot of a key, and then calls done once, with the reply or an error.
func (l *Limiter) do(key string, c *command, done func(r reply, err error)) {
	timeout := l.timeout
	if !l.replied { // the first command also connects
		timeout *= 3
	}
	ctx, cancel := context.WithCancel(context.Background())
	late := time.AfterFunc(timeout, func() { // go-redis may ignore ctx
		cancel()
		done(reply{}, fmt.Errorf("no reply within %v", timeout))
	})
	go func() {
		defer cancel()
		r, err := l.eval(ctx, key, c)
		_, refused := errors.AsType[redis.Error](err)
		if err != nil && !refused && ctx.Err() == nil {
			c.Outcomes = lockouts(c.Outcomes) // Redis may have counted them before the connection broke
			r, err = l.eval(ctx, key, c)
		}
		if late.Stop() {
			done(r, err)
		}
	}()
}

// eval sends the hash of the script or, if Redis does not have it yet, its text.
func (l *Limiter) eval(ctx context.Context, key string, c *command) (r reply, err error) {
	argument, _ := json.Marshal(c) // numbers and booleans: it cannot fail
	send := func(name, script string) (string, error) {
		cmd := redis.NewCmd(ctx, name, script, 1, l.prefix+key, argument)
		_ = l.rdb.Process(ctx, once{cmd}) // cmd has the error
		return cmd.Text()
	}
	text, err := send("evalsha", potHash)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		text, err = send("eval", potScript)
	}
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(text), &r)
}

// once is a command that go-redis must not send again: its outcomes might be counted twice.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// logAvailability logs when Redis goes away and when it is back, once for all keys. Redis may be
// away for some keys only, as with a cluster. So it is back when the key that failed last gets a
// reply. If nobody uses this key any more, Redis is back when no key has failed for a minute.
func (q *queue) logAvailability(err error, now time.Time) {
	l := q.l
	switch {
	case err != nil:
		first := l.failed == nil
		l.failed, l.failedAt = q, now
		if first {
			l.awaySince = now
			q.log(slog.LevelWarn, "redis is away, this process keeps to its share", slog.String("error", err.Error()))
		}
	case l.failed == q, l.failed != nil && now.Sub(l.failedAt) > time.Minute:
		l.failed = nil
		q.log(slog.LevelInfo, "redis is back", slog.Duration("away", now.Sub(l.awaySince)))
	}
}

// log logs without the lock: the handler may call the limiter.
func (q *queue) log(level slog.Level, text string, attr slog.Attr) {
	if logger := q.l.logger; logger != nil {
		key, processes := slog.String("key_id", q.key), slog.Int("processes", q.shares())
		q.l.unlocked(func() {
			logger.LogAttrs(context.Background(), level, "petstoreredis: "+text, attr, key, processes)
		})
	}
}

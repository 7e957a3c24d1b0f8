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

// limits are the reasons for which a key can be closed, by their numbers in the script: 0 to 2.
var limits = []ratelimit.Reason{ratelimit.ReasonMinute, ratelimit.ReasonDay, ratelimit.ReasonBan}

// responseIndex is the number of ReasonResponse in the script.
const responseIndex = 3

// limitIndex returns the index of a limit in limits; 0 for no limit.
func limitIndex(limit ratelimit.Reason) int { return max(0, slices.Index(limits, limit)) }

// limitAt returns the limit with an index from a reply. A damaged pot may have any index.
func limitAt(index int) ratelimit.Reason { return limits[min(max(0, index), len(limits)-1)] }

// command is what the script gets. Its times are Unix milliseconds by the clock of this process.
type command struct {
	Now       int64 // the time at which it is sent
	Number    int64 // the number of the last permit that this process knows
	Processes int   // the number of processes, as far as this one knows
	Fallback  bool  // the last command has failed
	Reopen    bool
	Want      [2]int       // how many requests wait; [1]: background requests
	Epoch     int64        // the last window in which this process wanted permits
	ShareUsed int          // how many requests of its share of that window this process has used
	Outcomes  []potOutcome `json:",omitempty"`
	Known     potOutcome   // the window and the lockout that this process knows; it belongs to no permit
}

// potOutcome is the outcome of a request, as the script gets it.
type potOutcome struct {
	Number, Epoch    int64 // of the permit; 0 if there is none
	Lost, NoResponse bool  // Lost: no window came; NoResponse: no response came, though the caller waited for it
	Limit, Remaining int   // of the window
	Reset, Ends      int64 // of the window; Reset is in seconds by the clock of the service
	Closed           int64 // the end of the lockout after a 429 or, in Known, of the known lockout; 0: none
	Reason           int   // the index of the limit
}

// reply is what the script returns: the numbers of the pot, and what was granted.
type reply struct {
	At, Number, Epoch, Reset, Ends, Closed, Wait      int64
	Limit, Remaining, Left, Streak, Processes, Reason int

	FirstResponse int64  `json:"first_response"` // of the window; 0 before it
	ClosedBy      int    `json:"closed_by"`      // the index of the limit of the last lockout
	Granted       [2]int // permits, in the order of Want
}

// ask sends a command to the pot of a key, and then calls ended once, with the reply or an error.
func (l *Limiter) ask(key string, c *command, ended func(r reply, err error)) {
	timeout := l.timeout
	if !l.replied { // the first command also connects
		timeout *= 3
	}
	ctx, cancel := context.WithCancel(context.Background())
	late := time.AfterFunc(timeout, func() { // go-redis may ignore ctx
		cancel()
		ended(reply{}, fmt.Errorf("no reply within %v", timeout))
	})
	go func() {
		defer cancel()
		r, err := l.run(ctx, key, c)
		_, refused := errors.AsType[redis.Error](err)
		if err != nil && !refused && ctx.Err() == nil {
			c.Outcomes = nil // Redis may have counted them before the connection broke
			r, err = l.run(ctx, key, c)
		}
		if late.Stop() {
			ended(r, err)
		}
	}()
}

// run sends the hash of the script or, if Redis does not have it yet, its text.
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

// once is a command that go-redis must not send again: its outcomes might be counted twice.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// logAvailability logs when Redis goes away and when it is back. It logs for one key, because with
// a cluster Redis may be away for some keys only. It releases the lock while it logs. before is the
// fallback before the command.
func (q *queue) logAvailability(before *fallback, err error) {
	q.l.replied = q.l.replied || err == nil
	switch {
	case err != nil && before == nil:
		q.log(slog.LevelWarn, "redis is away, this process keeps to its share",
			slog.String("error", err.Error()))
	case err == nil && before != nil:
		q.log(slog.LevelInfo, "redis is back", slog.Duration("away", time.Since(before.since)))
	}
}

// log logs without the lock: the handler may call the limiter.
func (q *queue) log(level slog.Level, text string, attr slog.Attr) {
	if logger := q.l.logger; logger != nil {
		key, processes := slog.String("key_id", q.key), slog.Int("processes", q.processes())
		q.l.unlocked(func() {
			logger.LogAttrs(context.Background(), level, "petstoreredis: "+text, attr, key, processes)
		})
	}
}

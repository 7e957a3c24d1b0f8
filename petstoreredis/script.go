package petstoreredis

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/petstore/petstore-go/ratelimit"
)

//go:embed pot.lua
var potScript string

// scopes are the limits by their numbers in the script.
var scopes = []ratelimit.Reason{ratelimit.ReasonMinute, ratelimit.ReasonDay, ratelimit.ReasonBan}

// orderOf returns what the script gets. Its durations are milliseconds.
func orderOf(x *ratelimit.Exchange) []byte {
	text, _ := json.Marshal(map[string]any{ // numbers and booleans: it cannot fail
		"want": x.Want, "background": x.Background,
		"number": x.Number, "epoch": x.Epoch, "opened": x.Opened, "processes": x.Processes, "alone": x.Alone,
		"counted": x.Counted, "done": x.Done, "spent": x.Spent, "silent": x.Silent,
		"latest": x.Latest, "limit": x.Window.Limit, "remaining": x.Window.Remaining, "reset": max(0, x.Window.Reset.Unix()),
		"ends_in": millis(x.EndsIn), "scope": max(0, slices.Index(scopes, x.Reason)),
		"closed_in": millis(x.ClosedIn), "rejected": x.Rejected, "reopen": x.Reopen,
	})
	return text
}

// millis returns whole milliseconds, rounded up.
func millis(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }

// reply is the reply of the script: the fields of the pot. Times are milliseconds by the clock of
// Redis.
type reply struct {
	At, Number, Epoch, Opened, Known, Ends, Closed, Reset int64
	Granted, Background, Limit, Remaining, Left           int
	Processes, Scope                                      int
}

// answers reports whether r can be the script's reply to x. Something else may have replied
// instead.
func (r *reply) answers(x *ratelimit.Exchange) bool {
	const longest = int64(401 * 24 * time.Hour / time.Millisecond)
	return min(r.At, r.Number, r.Epoch) > 0 && r.Processes > 0 && min(r.Granted, r.Background, r.Limit, r.Remaining, r.Left) >= 0 &&
		r.Granted <= x.Want && r.Background <= x.Background && max(r.Ends, r.Closed)-r.At <= longest
}

// fill copies r to the reply of x.
func (r *reply) fill(x *ratelimit.Exchange) {
	y := &x.Reply
	y.Granted, y.Background, y.Number, y.Epoch, y.Opened = r.Granted, r.Background, r.Number, r.Epoch, r.Opened
	y.Known, y.Left, y.Processes = r.Known > 0, r.Left, r.Processes
	if r.Limit > 0 {
		y.Window = ratelimit.Window{Limit: r.Limit, Remaining: r.Remaining, Reset: time.Unix(r.Reset, 0).UTC()}
	}
	y.EndsIn = time.Duration(max(0, r.Ends-r.At)) * time.Millisecond
	y.ClosedIn = time.Duration(max(0, r.Closed-r.At)) * time.Millisecond
	y.Reason = scopes[0]
	if r.Scope > 0 && r.Scope < len(scopes) { // another number was not written by the script
		y.Reason = scopes[r.Scope]
	}
}

// once is a command that go-redis must not send again by itself: the script might count the
// outcomes twice.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// run runs the script.
func (p *pot) run(ctx context.Context, connected bool, x *ratelimit.Exchange) error {
	order := orderOf(x)
	do := func(name, script string) (string, error) {
		p.roundTrips.Add(1)
		cmd := redis.NewCmd(ctx, name, script, 1, p.config.prefix+x.Key, order)
		_ = p.rdb.Process(ctx, once{cmd}) // cmd has the error
		return cmd.Text()
	}
	replied, err := "", error(nil)
	if connected {
		replied, err = do("evalsha", p.hash)
	}
	if !connected || redis.HasErrorPrefix(err, "NOSCRIPT") {
		replied, err = do("eval", potScript)
	}
	if err != nil {
		return err
	}
	var r reply
	if json.Unmarshal([]byte(replied), &r) != nil || !r.answers(x) {
		return errors.New("the reply is not one of the script")
	}
	r.fill(x)
	return nil
}

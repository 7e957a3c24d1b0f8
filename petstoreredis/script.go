package petstoreredis

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/petstore/petstore-go/ratelimit"
)

//go:embed pot.lua
var potScript string

// order is what the script gets, a [ratelimit.Exchange] with durations in milliseconds.
type order struct {
	Want       int   `json:"want"`
	Background int   `json:"background"`
	Number     int64 `json:"number"`
	Epoch      int64 `json:"epoch"`
	Opened     int64 `json:"opened"`
	Processes  int   `json:"processes"`
	Alone      bool  `json:"alone"`

	Counted int64 `json:"counted"`
	Done    int   `json:"done"`
	Spent   int   `json:"spent"`
	Silent  bool  `json:"silent"`
	Bare    bool  `json:"bare"`

	Latest    int64           `json:"latest"`
	Limit     int             `json:"limit"`
	Remaining int             `json:"remaining"`
	Reset     int64           `json:"reset"`
	EndsIn    int64           `json:"ends_in"`
	ClosedIn  int64           `json:"closed_in"`
	Rejected  bool            `json:"rejected"`
	Scope     ratelimit.Scope `json:"scope"`
	Reopen    bool            `json:"reopen"`
}

func orderOf(x *ratelimit.Exchange) *order {
	return &order{
		x.Want, x.Background, x.Number, x.Epoch, x.Opened, x.Processes, x.Alone, x.Counted, x.Done, x.Spent, x.Silent, x.Bare,
		x.Latest, x.Window.Limit, x.Window.Remaining, max(0, x.Window.Reset.Unix()),
		millis(x.EndsIn), millis(x.ClosedIn), x.Rejected, x.Scope, x.Reopen,
	}
}

// millis returns whole milliseconds, rounded up.
func millis(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }

// reply is what the script replies.
type reply struct {
	Granted    int             `json:"granted"`
	Background int             `json:"background"`
	Number     int64           `json:"number"`
	Epoch      int64           `json:"epoch"`
	Opened     int64           `json:"opened"`
	Known      bool            `json:"known"`
	Limit      int             `json:"limit"`
	Remaining  int             `json:"remaining"`
	Reset      int64           `json:"reset"`
	Scope      ratelimit.Scope `json:"scope"`
	Left       int             `json:"left"`
	EndsIn     int64           `json:"ends_in"`
	ClosedIn   int64           `json:"closed_in"`
	Processes  int             `json:"processes"`
}

// answers reports whether the script can have made r for x. Something else may have replied instead.
func (r *reply) answers(x *ratelimit.Exchange) bool {
	const longest = int64(401 * 24 * time.Hour / time.Millisecond)
	return r.Number > 0 && r.Epoch > 0 && r.Processes > 0 && min(r.Granted, r.Background, r.Limit, r.Remaining, r.Left) >= 0 &&
		r.Granted <= x.Want && r.Background <= x.Background &&
		min(r.Opened, r.Reset, r.EndsIn, r.ClosedIn) >= 0 && max(r.EndsIn, r.ClosedIn) <= longest
}

// fill copies r to the reply of x.
func (r *reply) fill(x *ratelimit.Exchange) {
	y := &x.Reply
	y.Granted, y.Background, y.Number, y.Epoch, y.Opened = r.Granted, r.Background, r.Number, r.Epoch, r.Opened
	y.Known, y.Left, y.Processes, y.Scope = r.Known, r.Left, r.Processes, r.Scope
	y.EndsIn, y.ClosedIn = time.Duration(r.EndsIn)*time.Millisecond, time.Duration(r.ClosedIn)*time.Millisecond
	if y.Window = (ratelimit.Window{}); r.Limit > 0 {
		y.Window = ratelimit.Window{Limit: r.Limit, Remaining: r.Remaining, Reset: time.Unix(r.Reset, 0).UTC()}
	}
	switch r.Scope {
	case ratelimit.ScopeMinute, ratelimit.ScopeDay, ratelimit.ScopeBan:
	default: // somebody has written it
		y.Scope = ratelimit.ScopeMinute
	}
}

// once is a command that go-redis must not send again by itself: the script might count it twice.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// run runs the script.
func (p *pot) run(ctx context.Context, connected bool, x *ratelimit.Exchange) error {
	text, _ := json.Marshal(orderOf(x)) // numbers and constants: it cannot fail
	do := func(name, script string) (string, error) {
		p.roundTrips.Add(1)
		cmd := redis.NewCmd(ctx, name, script, 1, p.config.prefix+x.Key, text)
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

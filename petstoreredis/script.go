package petstoreredis

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed pot.lua
var potScript string

// store is where the pot is.
type store struct {
	rdb  redis.UniversalClient
	hash string // of the script
	key  string
}

// once is a command that go-redis must not send again by itself: the script might count it twice.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// run runs the script.
func (s *store) run(ctx context.Context, o *order) (*pot, error) {
	text, _ := json.Marshal(o) // numbers and constants: it cannot fail
	do := func(name, script string) (string, error) {
		cmd := redis.NewCmd(ctx, name, script, 1, s.key, text)
		_ = s.rdb.Process(ctx, once{cmd}) // cmd has the error
		return cmd.Text()
	}
	reply, err := do("evalsha", s.hash)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = do("eval", potScript)
	}
	if err != nil {
		return nil, err
	}
	p := &pot{}
	if json.Unmarshal([]byte(reply), p) != nil || !p.answers(o) {
		return nil, errors.New("the reply is not one of the script")
	}
	return p, nil
}

// order is what a process reports to the script and asks of it. Durations are milliseconds.
type order struct {
	Want   int   `json:"want"`   // permits for calls that wait
	Extra  int   `json:"extra"`  // and so many more if there are plenty
	Taken  int   `json:"taken"`  // permits of the pot that the process got
	Window int64 `json:"window"` // of the last reply
	At     int64 `json:"at"`
	Reopen bool  `json:"reopen"` // let a request ask the service although the key is closed

	report

	EndsIn  int64 `json:"ends_in"` // of the window of the report
	SentAgo int64 `json:"sent_ago"`
	RetryIn int64 `json:"retry_in"`
}

// millis returns the milliseconds from now to t, rounded up; 0 for the zero time.
func millis(now, t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return (t.Sub(now) + time.Millisecond - 1).Milliseconds()
}

// pot is the reply of the script: the state of the pot.
type pot struct {
	Granted   int    `json:"granted"` // permits for this process
	Hold      int64  `json:"hold"`    // when it may get more in this window
	Window    int64  `json:"window"`  // identifies the pot
	Remaining int    `json:"remaining"`
	Out       int    `json:"out"`
	Limit     int    `json:"limit"`
	Reset     int64  `json:"reset"`
	EndsIn    int64  `json:"ends_in"` // until the permits lapse
	Processes int    `json:"processes"`
	At        int64  `json:"at"` // by the clock of Redis
	Scope     string `json:"scope"`
}

// answers reports whether the script can have made p for o. Something else may have replied instead.
func (p *pot) answers(o *order) bool {
	return p.Window > 0 && p.Granted >= 0 && p.Granted <= o.Want+o.Extra && p.Hold >= 0 && p.Hold <= 10_000 &&
		min(p.Remaining, p.Out, p.Limit, p.Processes) >= 0 && min(p.Reset, p.At) >= 0 &&
		p.EndsIn >= -minute.Milliseconds() && p.EndsIn <= (longestRetry+time.Hour).Milliseconds()
}

// ends returns how long the permits are valid.
func (p *pot) ends() time.Duration { return time.Duration(p.EndsIn) * time.Millisecond }

// left returns the number of permits that nobody has drawn.
func (p *pot) left() int { return p.Remaining - p.Out }

// free returns how many requests will be left at the end of the window if all processes together
// send half as many more than so far.
func (p *pot) free() int {
	age := max(minute-p.ends(), time.Second)
	used := float64(p.Limit-p.left()) * 1.5 * float64(minute) / float64(age)
	return max(0, p.Limit-int(used))
}

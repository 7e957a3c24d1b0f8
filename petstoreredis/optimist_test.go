package petstoreredis

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/golden"
)

// optimist makes each exchange of a process a compare-and-set: the process reads the state,
// decides, and writes if nobody has written meanwhile; otherwise the same round trip brings the
// newer state, and it decides again. The decisions are those of the script, so that only the round
// trips differ.
type optimist struct {
	*testRedis
	version *version
	seen    int // the version that this process has read last
}

// version counts the writes of a state.
type version struct {
	lock  chan struct{} // of the bubble, in which a mutex would stop the time
	n     int
	bytes int
}

func newVersion() *version { return &version{lock: make(chan struct{}, 1)} }

// ProcessHook implements redis.Hook.
func (o *optimist) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !strings.HasPrefix(cmd.Name(), "eval") {
			return next(ctx, cmd) // of the handshake
		}
		for {
			o.trips.Add(1)
			pause(o.latency / 2)
			written, err := o.try(ctx, cmd, next)
			pause(o.latency / 2)
			if written || err != nil {
				return err
			}
		}
	}
}

// try writes the state if it is the one that the process has read.
func (o *optimist) try(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) (written bool, err error) {
	o.version.lock <- struct{}{}
	defer func() { <-o.version.lock }()
	if o.seen != o.version.n {
		o.seen = o.version.n
		return false, nil
	}
	o.version.n++
	o.seen = o.version.n
	err = next(ctx, cmd)
	for _, key := range o.Keys() {
		if strings.HasSuffix(key, ":state") {
			text, _ := o.Get(key)
			o.version.bytes = max(o.version.bytes, len(text))
		}
	}
	return true, err
}

// TestLimiterAcquire_compareAndSet measures the alternative to a script; see "Why a script" in
// docs/scaling.md.
func TestLimiterAcquire_compareAndSet(t *testing.T) {
	long(t)
	for _, f := range []fleet{
		{limit: 300, processes: 8, goroutines: 4},
		{limit: 1000, processes: 8, goroutines: 4},
		{limit: 1000, processes: 100, goroutines: 1},
		{limit: 1000, processes: 1000, goroutines: 1},
	} {
		if f.processes > 8 && !golden.Update() {
			continue
		}
		f.window, f.requests, f.seed = fake.WindowFixed, f.limit*5/2, 1
		f.least, f.most = 20*time.Millisecond, 200*time.Millisecond
		t.Run(fmt.Sprintf("%d processes on %d a minute", f.processes, f.limit), func(t *testing.T) {
			script := f.run(t)
			f.optimistic = true
			f.options = []Option{WithTimeout(time.Hour)} // however often a process has to try
			set := f.run(t)
			t.Logf("round trips for each request: %.2f with the script, %.2f with compare-and-set of up to %d bytes, %s and %s",
				script.trips, set.trips, set.bytes, script.makespan, set.makespan)
		})
	}
}

package petstoreredis

import (
	"log/slog"
	"strings"
	"time"

	"github.com/petstore/petstore-go"
)

// Option configures a [Limiter] in [NewLimiter].
type Option interface {
	apply(*config)
}

type setting func(*config)

func (s setting) apply(c *config) { s(c) }

type config struct {
	logger  *slog.Logger
	share   int
	timeout time.Duration
	lease   time.Duration
	prefix  string
}

func defaults() config {
	return config{timeout: 500 * time.Millisecond, lease: 5 * time.Second, prefix: "petstore:"}
}

// WithLogger makes the Limiter log, at level Warn, when it goes on without Redis, when that is
// over, and when a state in Redis could not be read, at most one line a minute. A line has
// [Stats].Name in it; neither the limiter's name nor a key is ever logged. A nil logger, the
// default, logs nothing.
func WithLogger(l *slog.Logger) Option { return setting(func(c *config) { c.logger = l }) }

// WithShare says among how many processes the key is divided while Redis is away: each then keeps
// to its part. Where they are more than the limit has requests, some send nothing in a window. The
// default, 0, is the number of processes that Redis knew of last, or 64 if it has never answered.
func WithShare(processes int) Option { return setting(func(c *config) { c.share = processes }) }

// WithTimeout bounds how long a call may be held up by one command of Redis. One that takes longer,
// like one that fails, has the process go on without Redis. The default is 500 ms: a busy machine
// stays below it, and so does a Redis in another region, where a lost connection costs a few round
// trips. The first command may take a second in any case.
func WithTimeout(d time.Duration) Option { return setting(func(c *config) { c.timeout = d }) }

// WithLease sets for how long what a process has reserved is kept for it when it is not heard of.
// The default is 5 s, the least is 100 ms. A process that is busy is heard of in time; after one
// has died, up to its share of the window cannot be used by the others for so long.
func WithLease(d time.Duration) Option { return setting(func(c *config) { c.lease = d }) }

// WithKeyPrefix sets what the names of the keys in Redis begin with, "petstore:" by default. It
// must be the same in the whole fleet, and must not have braces in it: they are what keeps the keys
// in one slot of a cluster.
func WithKeyPrefix(prefix string) Option { return setting(func(c *config) { c.prefix = prefix }) }

func (c *config) check() error {
	switch {
	case c.share < 0:
		return argumentError("WithShare", "is negative")
	case c.timeout <= 0:
		return argumentError("WithTimeout", "is not positive")
	case c.lease < 100*time.Millisecond:
		return argumentError("WithLease", "is less than 100ms")
	case c.lease > 24*time.Hour:
		return argumentError("WithLease", "is more than a day")
	case strings.ContainsAny(c.prefix, "{}"):
		return argumentError("WithKeyPrefix", "has braces")
	}
	return nil
}

func argumentError(argument, reason string) error {
	return &petstore.ArgumentError{Operation: "NewLimiter", Argument: argument, Reason: reason}
}

package petstoreredis

import (
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/petstore/petstore-go"
)

// Option configures a [Limiter] in [NewLimiter].
type Option func(*config)

type config struct {
	logger  *slog.Logger
	meters  metric.MeterProvider
	share   int
	timeout time.Duration
	prefix  string
}

// WithLogger makes the Limiter log when it goes on without Redis, at level Warn with the error, and
// when Redis is back, at level Info: the first three times, then once in ten minutes at most. A nil
// logger, the default, logs nothing.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

// WithMeterProvider records [Stats] as metrics: the gauges petstore.redis.away (1 without Redis) and
// petstore.redis.processes, and the counter petstore.redis.round_trips. The provider keeps the
// Limiter. By default, and if p is nil, nothing is recorded.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// WithShare sets the number of processes that share each key while Redis is away. The default, 0, is
// the number that Redis knew last, or 64 if it has never replied.
func WithShare(processes int) Option { return func(c *config) { c.share = processes } }

// WithTimeout sets how long a command may take. After that, or if it fails, the process goes on
// without Redis. The default is 2 s. The first command of a process may take three times as long,
// because it connects.
func WithTimeout(d time.Duration) Option { return func(c *config) { c.timeout = d } }

// WithKeyPrefix sets what the names of the keys in Redis begin with, "petstore:" by default. It must
// be the same in all processes.
func WithKeyPrefix(prefix string) Option { return func(c *config) { c.prefix = prefix } }

func argumentError(argument, reason string) error {
	return &petstore.ArgumentError{Operation: "NewLimiter", Argument: argument, Reason: reason}
}

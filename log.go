package petstore

import (
	"context"
	"log/slog"
)

// logTrace returns the trace that writes the log of WithLogger: a line for each attempt at level Debug, and for each
// wait at level Info.
func logTrace(logger *slog.Logger) *ClientTrace {
	return &ClientTrace{
		AttemptDone: func(ctx context.Context, info AttemptDoneInfo) { logAttempt(ctx, logger, info) },
		WaitStart:   func(ctx context.Context, info WaitStartInfo) { logWait(ctx, logger, info) },
	}
}

func logAttempt(ctx context.Context, logger *slog.Logger, info AttemptDoneInfo) {
	attrs := []slog.Attr{
		slog.String("operation", info.Call.Operation),
		slog.Int("attempt", info.Call.Attempt),
	}
	if info.StatusCode != 0 {
		attrs = append(attrs, slog.Int("status", info.StatusCode), slog.Any("rate_limit", info.RateLimit))
	}
	if info.Err != nil {
		attrs = append(attrs, slog.String("error", oneLine(info.Err.Error())))
	}
	logger.LogAttrs(ctx, slog.LevelDebug, "petstore: attempt", attrs...)
}

func logWait(ctx context.Context, logger *slog.Logger, info WaitStartInfo) {
	attrs := []slog.Attr{
		slog.String("operation", info.Call.Operation),
		slog.String("reason", string(info.Wait.Reason)),
	}
	if !info.Wait.Until.IsZero() {
		attrs = append(attrs, slog.Time("until", info.Wait.Until))
	}
	attrs = append(attrs, slog.Int("waiting", info.Wait.Waiting))
	logger.LogAttrs(ctx, slog.LevelInfo, "petstore: waiting", attrs...)
}

package main

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/petstore/petstore-go/fake"
)

// newLogger returns the log of requests in a format, nil for none.
func newLogger(w io.Writer, format string) *slog.Logger {
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, nil))
	case "json":
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return nil
}

// logRequest writes a line for a request that has its response, or gets none. It leaves out each
// query, and the path of a request without a valid key, since a key of another service may be in
// them.
func logRequest(logger *slog.Logger, r fake.Request) {
	path, _, _ := strings.Cut(r.Path, "?")
	if r.Key == 0 {
		path = ""
	}
	logger.LogAttrs(context.Background(), slog.LevelInfo, "request",
		slog.Int("seq", r.Seq), slog.String("operation", r.Operation), slog.String("path", path),
		slog.Int("status", r.StatusCode), slog.Float64("duration_ms", float64(r.Duration)/float64(time.Millisecond)),
		slog.Int("key", r.Key))
}

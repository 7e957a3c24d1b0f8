package main

import (
	"io"
	"log/slog"
	"net/http"
	"time"
)

// newLogger returns a logger in a format, text or json, or nil for none.
func newLogger(w io.Writer, format string) *slog.Logger {
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, nil))
	case "json":
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return nil
}

// logged serves a request and logs a line for it, without the query, in which there may be a key of
// another service. The status is 0 if there was no response.
func logged(logger *slog.Logger, handler http.Handler, w http.ResponseWriter, r *http.Request) {
	begun, status := time.Now(), &statusWriter{ResponseWriter: w}
	defer func() { // also after a fault that breaks the connection by a panic
		logger.Info("request", "method", r.Method, "path", r.URL.Path, "status", status.code,
			"duration_ms", float64(time.Since(begun))/float64(time.Millisecond))
	}()
	handler.ServeHTTP(status, r)
}

// statusWriter notes the status of a response.
type statusWriter struct {
	http.ResponseWriter
	code int
}

func (w *statusWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap returns the server's ResponseWriter, for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

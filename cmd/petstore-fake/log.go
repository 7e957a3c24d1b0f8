package main

import (
	"io"
	"log/slog"
	"net/http"
	"time"
)

// logged returns a handler that also writes a line for each request to w, in a format: text, json,
// or none. The line leaves out the query, which may contain a key of another service. The status is
// 0 if there was no response.
func logged(handler http.Handler, format string, w io.Writer) http.Handler {
	var lines slog.Handler = slog.NewTextHandler(w, nil)
	switch format {
	case "":
		return handler
	case "json":
		lines = slog.NewJSONHandler(w, nil)
	}
	logger := slog.New(lines)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun, status := time.Now(), &statusWriter{ResponseWriter: w}
		defer func() { // also after a fault that breaks the connection by a panic
			logger.Info("request", "method", r.Method, "path", r.URL.Path, "status", status.code,
				"duration_ms", float64(time.Since(begun))/float64(time.Millisecond))
		}()
		handler.ServeHTTP(status, r)
	})
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

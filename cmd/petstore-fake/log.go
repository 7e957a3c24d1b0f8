package main

import (
	"io"
	"log/slog"
	"net/http"
	"time"
)

// logged returns a handler that calls the given handler, and then writes a line about the request
// to w. The format is text or json; if it is "", there are no lines. A line leaves out the query,
// in which a client may have put a key of another service. Without a response, the status is 0.
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
		defer func() { // deferred, because a fault that breaks the connection panics
			logger.Info("request", "method", r.Method, "path", r.URL.Path, "status", status.code,
				"duration_ms", float64(time.Since(begun))/float64(time.Millisecond))
		}()
		handler.ServeHTTP(status, r)
	})
}

// statusWriter keeps the status of a response in code.
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

package main

import (
	"cmp"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/safetext"
)

// The values of -log.
const (
	logText = "text"
	logJSON = "json"
)

// requestLog writes a line for each request of the service. No key is in it.
type requestLog struct {
	logger *slog.Logger
	srv    *fake.Server
}

// withLog returns the service with a log in a format, "" for none.
func withLog(srv *fake.Server, w io.Writer, format string) http.Handler {
	switch format {
	case logText:
		return requestLog{slog.New(slog.NewTextHandler(w, nil)), srv}
	case logJSON:
		return requestLog{slog.New(slog.NewJSONHandler(w, nil)), srv}
	}
	return srv
}

// ServeHTTP serves a request, and writes its line with status 0 if it got no response.
func (l requestLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.Trim(token, " ")
	o, begun := &observer{ResponseWriter: w}, time.Now()
	defer func() { // the fake panics to break a connection
		l.logger.LogAttrs(r.Context(), slog.LevelInfo, "request",
			slog.String("method", safetext.Redact(r.Method, l.srv.Keys()...)),
			slog.String("path", l.path(r.URL, token)),
			slog.Int("status", o.status),
			slog.Float64("duration_ms", float64(time.Since(begun))/float64(time.Millisecond)),
			slog.Any("key", l.key(token)),
		)
	}()
	l.srv.ServeHTTP(o, r)
}

// key returns the id of a key, or a word for a request without a key that the fake knows.
func (l requestLog) key(token string) any {
	if token == "" {
		return "none"
	}
	if i := slices.Index(l.srv.Keys(), token); i >= 0 {
		return i + 1
	}
	return "unknown"
}

// path returns the path and query without any key: those that the fake knows, the credentials of
// the request, which may be the key of a real service, and the values that no parameter of the
// service has, which may be anything.
func (l requestLog) path(u *url.URL, token string) string {
	text, query := u.Path, u.Query()
	for name, values := range query {
		for i, v := range values {
			isLimit := name == "limit" && len(v) < len("100000")
			if isStatus := name == "status" && petstore.PetStatus(v).Valid(); !isLimit && !isStatus {
				values[i] = "redacted"
			}
		}
	}
	if len(query) > 0 {
		text += "?" + query.Encode()
	}
	return safetext.Redact(safetext.Redact(text, l.srv.Keys()...), token)
}

// observer is a ResponseWriter that records the status, which the fake always writes.
type observer struct {
	http.ResponseWriter
	status int // 0: no response
}

// WriteHeader sends the status.
func (o *observer) WriteHeader(status int) {
	o.status = cmp.Or(o.status, status)
	o.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the wrapped ResponseWriter, for http.ResponseController.
func (o *observer) Unwrap() http.ResponseWriter { return o.ResponseWriter }

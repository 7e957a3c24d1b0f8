package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// The values of -log.
const (
	logText = "text"
	logJSON = "json"
)

// requestLog writes a line for each request of the service. No key is in it.
type requestLog struct {
	logger *slog.Logger // nil for none
	srv    *fakecontrol.Server
}

// newRequestLog returns a log in a format, "" for none.
func newRequestLog(w io.Writer, format string, srv *fakecontrol.Server) requestLog {
	switch format {
	case logText:
		return requestLog{slog.New(slog.NewTextHandler(w, nil)), srv}
	case logJSON:
		return requestLog{slog.New(slog.NewJSONHandler(w, nil)), srv}
	}
	return requestLog{}
}

// redacted replaces texts that may be a key.
const redacted = "[redacted]"

// write writes the line of a request, with status 0 if it got no response.
func (l requestLog) write(r *http.Request, o *observer, took time.Duration) {
	if l.logger == nil {
		return
	}
	token := bearer(r)
	l.logger.LogAttrs(r.Context(), slog.LevelInfo, "request",
		slog.String("method", l.srv.Redact(r.Method)),
		slog.String("path", l.path(r.URL, token)),
		slog.Int("status", o.status),
		slog.Int("bytes", o.bytes),
		slog.Float64("duration_ms", float64(took)/float64(time.Millisecond)),
		slog.Any("key", l.key(token)),
	)
}

// bearer returns the credentials of a request's Authorization header.
func bearer(r *http.Request) string {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.Trim(token, " ")
}

// key returns the id of a key, or a word for a request without a key that the fake knows.
func (l requestLog) key(token string) any {
	if token == "" {
		return "none"
	}
	if id := l.srv.KeyNumber(token); id > 0 {
		return id
	}
	return "unknown"
}

// path returns the path and query without any key. It replaces the keys that the fake knows, the
// credentials of the request, which may be the key of a real service, and the values of parameters
// that the service does not have, which may be anything.
func (l requestLog) path(u *url.URL, token string) string {
	text := u.Path
	var words []string
	for name, values := range u.Query() {
		for _, v := range values {
			if name != "limit" && name != "status" || len(v) > len("available") {
				v = redacted
			}
			words = append(words, name+"="+v)
		}
	}
	if len(words) > 0 {
		slices.Sort(words)
		text += "?" + strings.Join(words, "&")
	}
	text = l.srv.Redact(text)
	if token != "" {
		text = strings.ReplaceAll(text, token, redacted)
	}
	return text
}

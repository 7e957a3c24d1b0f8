package main

import (
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/page"
	"github.com/petstore/petstore-go/fake"
)

// requestLog writes a line for each request of the service that has its response, or gets none.
type requestLog struct {
	srv    *fake.Server
	logger *slog.Logger // nil for no log

	mu   sync.Mutex
	seen int   // seq of the last request that was read from the journal
	open []int // those without a response so far
}

func newRequestLog(srv *fake.Server, w io.Writer, format string) *requestLog {
	l := &requestLog{srv: srv}
	switch format {
	case "text":
		l.logger = slog.New(slog.NewTextHandler(w, nil))
	case "json":
		l.logger = slog.New(slog.NewJSONHandler(w, nil))
	}
	return l
}

// write writes the requests that have ended. It must be called whenever one has.
func (l *requestLog) write() {
	if l.logger == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.srv.RequestsAfter(l.seen, math.MaxInt32) {
		l.seen, l.open = r.Seq, append(l.open, r.Seq)
	}
	l.open = slices.DeleteFunc(l.open, func(seq int) bool {
		found := l.srv.RequestsAfter(seq-1, 1)
		if len(found) == 0 || found[0].Seq != seq { // the journal has dropped it
			return true
		}
		r := page.Request{Request: found[0]}
		if !r.Pending() {
			l.writeOne(r)
		}
		return !r.Pending()
	})
}

// writeOne writes a line for a request. It leaves out each query, and the path of a request without a
// valid key, since a key of another service may be in them.
func (l *requestLog) writeOne(r page.Request) {
	path, _, _ := strings.Cut(r.Path, "?")
	if r.Key == 0 {
		path = ""
	}
	l.logger.Info("request", "seq", r.Seq, "operation", r.Operation, "path", path, "status", r.StatusCode,
		"duration_ms", float64(r.Duration)/float64(time.Millisecond), "key", r.Key)
}

// restart begins anew, after a reset of the fake, with request 1.
func (l *requestLog) restart() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen, l.open = 0, nil
}

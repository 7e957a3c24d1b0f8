package requestpage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/fake"
)

// The bounds of the event streams.
const (
	maxStreams  = 16
	batchPause  = 100 * time.Millisecond // between two events, so that a burst comes in one
	beatPause   = 15 * time.Second       // without events, after which a stream shows that it lives
	sendTimeout = 10 * time.Second       // for a reader to make room for an event
	MaxListed   = 100                    // keys, faults and pets, each
)

// event is what a stream sends. Its size is bounded, because everything in it is.
type event struct {
	Now time.Time `json:"now"`
	// Fresh means that Rows are in place of all that came before, the newest that fit.
	Fresh bool  `json:"fresh"`
	Rows  []row `json:"rows"`
	Gone  []int `json:"gone"` // requests that changed and do not fit any more
	// State has the parts of the state that changed.
	State map[string]json.RawMessage `json:"state"`
}

// stream is one reader of events.
type stream struct {
	p     *Page
	fits  func(fake.Request) bool
	at    position
	state map[string]json.RawMessage // as it was sent
}

// Events handles GET /_fake/events: server-sent events.
func (p *Page) Events(w http.ResponseWriter, r *http.Request) error {
	q := httpjson.ReadQuery(r, append(requestParameters(), "lastEventId")...)
	s := &stream{p: p, fits: requestFilter(q), state: make(map[string]json.RawMessage)}
	s.at = parsePosition(cmp.Or(r.Header.Get("Last-Event-ID"), q.Text("lastEventId")))
	if q.Err != nil {
		return q.Err
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return nil // a HEAD has no body, and would wait for events
	}
	defer p.streams.Add(-1)
	if p.streams.Add(1) > maxStreams {
		w.Header().Set("Retry-After", "5")
		return httpjson.Errorf(http.StatusServiceUnavailable,
			"there are %d event streams already", maxStreams)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s.serve(r.Context(), w)
	return nil
}

// serve sends events until the reader is gone, or so slow that it is as good as gone.
func (s *stream) serve(ctx context.Context, w http.ResponseWriter) {
	text := append([]byte("retry: 1000\n"), s.next()...)
	for {
		if len(text) > 0 && send(w, text) != nil {
			return
		}
		if wait := sleep(ctx, s.p.feed.done, nil, batchPause); wait == ended {
			return
		}
		// Asked for before looking, so that no change falls in between.
		changed := s.p.feed.changed()
		if text = s.next(); len(text) > 0 {
			continue
		}
		switch sleep(ctx, s.p.feed.done, changed, beatPause) {
		case ended:
			return
		case elapsed:
			text = []byte(":\n\n")
		case woken:
		}
	}
}

// send writes one piece of a stream.
func send(w http.ResponseWriter, text []byte) error {
	conn := http.NewResponseController(w)
	_ = conn.SetWriteDeadline(time.Now().Add(sendTimeout)) // a writer that has none is not slow
	if _, err := w.Write(text); err != nil {
		return err
	}
	return conn.Flush()
}

// The reasons for which a sleep ends.
type awakening int

const (
	ended awakening = iota
	woken
	elapsed
)

// sleep waits for a channel or a time, unless the stream has to end.
func sleep(ctx context.Context, done, wake <-chan struct{}, d time.Duration) awakening {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ended
	case <-done:
		return ended
	case <-wake:
		return woken
	case <-timer.C:
		return elapsed
	}
}

// next returns the next event as text, nothing if the reader knows everything.
func (s *stream) next() []byte {
	first := len(s.state) == 0
	seqs, at, ok := s.p.feed.since(s.at)
	s.at = at
	e := event{Now: s.p.srv.Now().UTC().Round(0), Rows: []row{}, Gone: []int{}, State: s.changes()}
	if !ok || len(seqs) > maxRows {
		e.Fresh, e.Rows, seqs = true, s.p.newestRows(s.fits), nil
	}
	keys := s.p.senders()
	for _, seq := range seqs {
		switch r, found := s.p.srv.Request(seq); {
		case !found:
		case s.fits(r):
			e.Rows = append(e.Rows, keys.row(r))
		default:
			e.Gone = append(e.Gone, seq)
		}
	}
	if !first && !e.Fresh && len(e.Rows)+len(e.Gone)+len(e.State) == 0 {
		return nil
	}
	text, err := json.Marshal(e)
	if err != nil {
		return nil // it consists of texts and numbers
	}
	return fmt.Appendf(nil, "id: %s\ndata: %s\n\n", at, text)
}

// changes returns the parts of the state that are not as they were sent.
func (s *stream) changes() map[string]json.RawMessage {
	changed := make(map[string]json.RawMessage)
	for name, part := range s.p.state() {
		text, err := json.Marshal(part)
		if err == nil && !bytes.Equal(text, s.state[name]) {
			s.state[name], changed[name] = text, text
		}
	}
	return changed
}

package requestpage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
)

// The bounds of the event streams.
const (
	maxStreams  = 16
	batchPause  = 60 * time.Millisecond // between two events, so that a burst comes in one
	beatPause   = 2 * time.Second       // without events, after which a stream shows that it lives
	sendTimeout = 10 * time.Second      // for a reader to make room for an event
	MaxListed   = 100                   // keys, faults and pets, each
)

// event is what a stream sends. Its size is bounded, because everything in it is.
type event struct {
	Now time.Time `json:"now"`
	// Fresh means that Rows are in place of all that came before, the newest that fit.
	Fresh bool  `json:"fresh"`
	Rows  []row `json:"rows"`
	Gone  []int `json:"gone"` // requests that changed and do not fit any more
	// Fit is how many requests of the journal fit, of Total.
	Fit   int `json:"fit"`
	Total int `json:"total"`
	// State has the parts of the state that changed.
	State map[string]json.RawMessage `json:"state"`
}

// stream is one reader of events.
type stream struct {
	p       *Page
	fits    func(journal.Entry) bool // nil for all
	fitting map[int]bool             // the seqs that fit, without a filter nil
	key     int                      // whose limit the chart shows
	at      position
	state   map[string]json.RawMessage // as it was sent
}

// Events handles GET /_fake/events: server-sent events.
func (p *Page) Events(w http.ResponseWriter, r *http.Request) error {
	q := httpjson.ReadQuery(r, append(journal.Parameters(), "lastEventId", "chart")...)
	s := &stream{p: p, fits: journal.Filter(q), state: make(map[string]json.RawMessage)}
	s.key = int(q.Number("chart", 1, math.MaxInt32, 1))
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
		case elapsed: // the state changes by itself too, when a window or a ban ends
			if text = s.next(); len(text) == 0 {
				text = []byte("event: beat\ndata:\n\n")
			}
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
	s.p.journal.Update(at.journal)
	e := event{Now: s.p.srv.Now().UTC().Round(0), Rows: []row{}, Gone: []int{}, State: s.changes()}
	if !ok || len(seqs) > maxRows || s.fits != nil && s.fitting == nil {
		e.Fresh, seqs = true, nil
		e.Rows, s.fitting = s.p.newestRows(s.fits)
	}
	s.change(&e, seqs)
	e.Fit, e.Total = s.count()
	if !first && !e.Fresh && len(e.Rows)+len(e.Gone)+len(e.State) == 0 {
		return nil
	}
	text, err := json.Marshal(e)
	if err != nil {
		return nil // it consists of texts and numbers
	}
	return fmt.Appendf(nil, "id: %s\ndata: %s\n\n", at, text)
}

// change adds the requests that have changed to an event.
func (s *stream) change(e *event, seqs []int) {
	keys := s.p.senders()
	for _, seq := range s.p.withTries(seqs) {
		one, found := s.p.journal.Entry(seq)
		switch {
		case !found:
		case s.fits == nil:
			e.Rows = append(e.Rows, keys.row(one))
		case s.fits(one):
			s.fitting[seq] = true
			e.Rows = append(e.Rows, keys.row(one))
		default:
			delete(s.fitting, seq)
			e.Gone = append(e.Gone, seq)
		}
	}
}

// withTries adds the earlier tries of those requests that are the last try of a call: these are not
// "try 2 of 2" any more.
func (p *Page) withTries(seqs []int) []int {
	const most = 50 // of one call
	all := seqs
	for _, seq := range seqs {
		if e, ok := p.journal.Entry(seq); ok && e.Try == len(e.Tries) {
			all = append(all, e.Tries[max(len(e.Tries)-most, 0):]...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// count returns how many requests of the journal fit, and of how many.
func (s *stream) count() (fit, total int) {
	first, last := s.p.journal.Span()
	total = last - first + 1
	if s.fits == nil {
		return total, total
	}
	maps.DeleteFunc(s.fitting, func(seq int, _ bool) bool { return seq < first })
	return len(s.fitting), total
}

// changes returns the parts of the state that are not as they were sent.
func (s *stream) changes() map[string]json.RawMessage {
	changed := make(map[string]json.RawMessage)
	parts := s.p.state()
	parts["violations"], parts["left"] = s.p.journal.Violations(), s.p.traffic.left(s.p.srv.Now(), s.key)
	for name, part := range parts {
		text, err := json.Marshal(part)
		if err == nil && !bytes.Equal(text, s.state[name]) {
			s.state[name], changed[name] = text, text
		}
	}
	return changed
}

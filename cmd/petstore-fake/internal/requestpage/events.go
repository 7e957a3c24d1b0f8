package requestpage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/httpjson"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
)

// The bounds of the event streams.
const (
	maxStreams  = 16
	batchPause  = 60 * time.Millisecond // between two events, so that a burst comes in one
	beatPause   = 2 * time.Second       // without events, after which a stream shows that it lives
	sendTimeout = 10 * time.Second      // for a reader to make room for an event
)

// event is what a stream sends. Its size is bounded, because everything in it is.
type event struct {
	Now time.Time `json:"now"`
	// Fresh reports whether Rows, the newest that fit, replace all earlier rows.
	Fresh bool              `json:"fresh"`
	Rows  []listed          `json:"rows"`
	Gone  []int             `json:"gone"`  // requests that changed and do not fit any more
	State map[string]string `json:"state"` // the parts beside the rows that changed, as HTML
}

// listed is a request of an event, with its row as HTML.
type listed struct {
	Seq  int    `json:"seq"`
	HTML string `json:"html"`
}

// stream is one reader of events.
type stream struct {
	*view
	state map[string]any // as it was sent
}

// Events handles GET /_fake/events: server-sent events.
func (p *Page) Events(w http.ResponseWriter, r *http.Request) error {
	v, q := p.newView(r, "lastEventId")
	s := &stream{view: v, state: make(map[string]any)}
	s.At = journal.ParsePosition(cmp.Or(r.Header.Get("Last-Event-ID"), q.Text("lastEventId")))
	if q.Err != nil {
		return q.Err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	defer p.streams.Add(-1)
	if p.streams.Add(1) > maxStreams {
		w.Header().Set("Retry-After", "5")
		return httpjson.Errorf(http.StatusServiceUnavailable,
			"there are %d event streams already", maxStreams)
	}
	s.serve(r.Context(), w)
	return nil
}

// serve sends events until the reader is gone, or takes none for sendTimeout.
func (s *stream) serve(ctx context.Context, w http.ResponseWriter) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.p.open, cancel)()
	for text := append([]byte("retry: 1000\n"), s.next()...); send(w, text) == nil && pause(ctx, nil, batchPause); {
		// Before next, so that no change is missed between the two.
		changed := s.p.changed()
		if text = s.next(); len(text) > 0 {
			continue
		}
		beat := pause(ctx, changed, beatPause)
		// The state changes by itself too, when a window or a ban ends.
		if text = s.next(); len(text) == 0 && beat {
			text = []byte("event: beat\ndata:\n\n")
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

// pause waits for a time, and reports whether all of it has passed.
func pause(ctx context.Context, wake <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
		return true
	}
	return false
}

// next returns the next event as text, and nil if nothing has changed.
func (s *stream) next() []byte {
	first := len(s.state) == 0
	seqs, at, ok := s.p.journal.Since(s.At)
	s.At = at
	e := event{Now: s.p.srv.Now().UTC().Round(0), Rows: []listed{}, Gone: []int{}, Fresh: !ok || len(seqs) > maxRows}
	if e.Fresh = e.Fresh || s.fits != nil && s.fitting == nil; e.Fresh {
		for _, r := range slices.Backward(s.newest()) {
			e.Rows = append(e.Rows, listed{r.Seq, s.p.render("row", r)})
		}
	} else {
		s.change(&e, seqs)
	}
	oldest, _ := s.p.journal.Span()
	maps.DeleteFunc(s.fitting, func(seq int, _ bool) bool { return seq < oldest })
	e.State = s.changes()
	if !first && !e.Fresh && len(e.Rows)+len(e.Gone)+len(e.State) == 0 {
		return nil
	}
	text := bytes.NewBufferString("id: " + at.String() + "\ndata: ")
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false) // which would make the rows half as long again
	if encoder.Encode(e) != nil {
		return nil // it consists of texts and numbers
	}
	return append(text.Bytes(), '\n')
}

// change adds the requests that have changed to an event.
func (s *stream) change(e *event, seqs []int) {
	keys := s.p.senders()
	for _, seq := range seqs {
		one, found := s.p.journal.Entry(seq)
		switch {
		case !found:
		case s.fits == nil || s.fits(one):
			if s.fits != nil {
				s.fitting[seq] = true
			}
			e.Rows = append(e.Rows, listed{seq, s.p.render("row", keys.row(one, s.Link(seq)))})
		default:
			delete(s.fitting, seq)
			e.Gone = append(e.Gone, seq)
		}
	}
}

// changes returns the parts that are not as they were sent.
func (s *stream) changes() map[string]string {
	changed := make(map[string]string)
	for name, part := range s.parts() {
		if sent, ok := s.state[name]; !ok || !reflect.DeepEqual(part, sent) {
			s.state[name], changed[name] = part, s.p.render(name, part)
		}
	}
	return changed
}

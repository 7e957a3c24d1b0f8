package fake

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxRepeats bounds the repeats in progress: each holds goroutines until its response ends.
const maxRepeats = 16

// repeat is a request that an operator sends again.
type repeat struct {
	of   int          // Seq of the client's request
	news chan arrival // gets the arrival of the repeat, and then its end
}

// arrival is the Seq of a repeat that has arrived, or why it did not.
type arrival struct {
	seq int
	err error
}

// Repeat sends a request of the journal again, as it came, and returns the Seq of the repeat once
// that has arrived. The journal marks it ([Request.Repeats]). It counts against the limits and
// meets faults, but no client has sent it: it causes no [Violation] and no ban. Repeat returns an
// error if the journal does not hold the request, if its method or path is not valid in HTTP, if a
// [WireRefuse] keeps it away, or if 16 repeats have not ended yet.
func (s *Server) Repeat(seq int) (int, error) {
	r := &repeat{of: seq, news: make(chan arrival, 2)}
	go func() {
		// If there was a response, but no arrival before it, the server was closed.
		r.news <- arrival{err: cmp.Or(s.send(r), error(closedError{}))}
	}()
	a := <-r.news
	if a.err != nil {
		return 0, fmt.Errorf("fake: Repeat: %w", a.err)
	}
	return a.seq, nil
}

// send sends a repeat and reads its response, which the journal has.
func (s *Server) send(r *repeat) error {
	defer s.repeats.Add(-1)
	if s.repeats.Add(1) > maxRepeats {
		return fmt.Errorf("%d repeats have not ended yet", maxRepeats)
	}
	if !s.inflight.enter(r, new(part)) { // it ends when its connection does
		return closedError{}
	}
	defer s.inflight.leave(r)
	req, err := s.rebuild(r.of)
	if err != nil {
		return err
	}
	resp, err := s.transport(r).RoundTrip(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}

// rebuild returns a request of the journal as it came.
func (s *Server) rebuild(seq int) (*http.Request, error) {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	found := s.journal.find(seq)
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no request #%d in the journal", seq)
	}
	one := found[0]
	req, err := http.NewRequestWithContext(context.Background(),
		one.Method, "http://localhost"+one.Path, bytes.NewReader(one.Body))
	if err != nil {
		return nil, errors.New("its method or its path is none of HTTP")
	}
	req.Header = one.Header.Clone()
	return req, nil
}

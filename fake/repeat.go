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
	of      int      // Seq of the client's request
	arrived chan int // gets the Seq of the repeat
}

// Repeat sends a request of the journal again, with the key it came with, and returns the Seq of
// the repeat once that has arrived. The journal marks it ([Request.Repeats]). It counts against the
// limits and meets faults, but it is no client's: no [Violation] comes of it, and no ban. Repeat
// returns an error if the journal does not hold the request, if HTTP has no such request, if a
// [WireRefuse] keeps it away, or if 16 repeats have not ended yet.
func (s *Server) Repeat(seq int) (int, error) {
	n, err := s.sendAgain(seq)
	if err != nil {
		return 0, fmt.Errorf("fake: Repeat: %w", err)
	}
	return n, nil
}

func (s *Server) sendAgain(seq int) (int, error) {
	req, err := s.rebuild(seq)
	if err != nil {
		return 0, err
	}
	r := &repeat{of: seq, arrived: make(chan int, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	if !s.inflight.enter(r, &part{breakOff: cancel}) {
		cancel()
		return 0, closedError{}
	}
	if s.repeats.Add(1) > maxRepeats {
		s.repeats.Add(-1)
		s.inflight.leave(r)
		cancel()
		return 0, fmt.Errorf("%d repeats have not ended yet", maxRepeats)
	}
	ended := make(chan error, 1)
	go func() {
		defer s.inflight.leave(r)
		defer s.repeats.Add(-1)
		defer cancel()
		resp, err := s.transport(r).RoundTrip(req.WithContext(ctx))
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // the journal has what there is to see
			_ = resp.Body.Close()
		}
		ended <- err
	}()
	select {
	case n := <-r.arrived:
		return n, nil
	case err = <-ended:
	}
	select {
	case n := <-r.arrived: // it ended at once
		return n, nil
	default:
		return 0, cmp.Or(err, errors.New("the request did not arrive"))
	}
}

// rebuild returns a request of the journal as it came.
func (s *Server) rebuild(seq int) (*http.Request, error) {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	found := s.journal.find(seq)
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no request #%d in the journal", seq)
	}
	req, err := http.NewRequest(found[0].Method, "http://localhost"+found[0].Path, bytes.NewReader(found[0].Body))
	if err != nil {
		return nil, errors.New("its method or its path is none of HTTP")
	}
	req.Header = found[0].Header.Clone()
	return req, nil
}

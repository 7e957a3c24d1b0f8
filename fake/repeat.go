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

// Repeat sends a request of the journal again, as it came, and returns the Seq of the repeat once
// that has arrived. The journal marks it ([Request.Repeats]). It counts against the limits and meets
// faults, but no client has sent it: it causes no [Violation] and no ban. Repeat returns an error if
// the journal does not hold the request, if HTTP has no such request, if a [WireRefuse] keeps it
// away, or if 16 repeats have not ended yet.
func (s *Server) Repeat(seq int) (int, error) {
	r := &repeat{of: seq, arrived: make(chan int, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	req, err := s.rebuild(ctx, seq)
	if n := s.repeats.Add(1); err == nil && n > maxRepeats {
		err = fmt.Errorf("%d repeats have not ended yet", maxRepeats)
	}
	ended := make(chan error, 1)
	go func() {
		defer s.repeats.Add(-1)
		defer cancel()
		if err == nil {
			err = s.send(r, req, cancel)
		}
		ended <- err
	}()
	select {
	case n := <-r.arrived:
		return n, nil
	case err = <-ended:
	}
	select {
	case n := <-r.arrived: // it has ended at once
		return n, nil
	default:
		return 0, fmt.Errorf("fake: Repeat: %w", cmp.Or(err, errors.New("the request did not arrive")))
	}
}

// send sends a repeat and reads its response, which the journal has. Close calls cancel.
func (s *Server) send(r *repeat, req *http.Request, cancel func()) error {
	if !s.inflight.enter(r, &part{breakOff: cancel}) {
		return closedError{}
	}
	defer s.inflight.leave(r)
	resp, err := s.transport(r).RoundTrip(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}

// rebuild returns a request of the journal as it came.
func (s *Server) rebuild(ctx context.Context, seq int) (*http.Request, error) {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	found := s.journal.find(seq)
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no request #%d in the journal", seq)
	}
	one := found[0]
	req, err := http.NewRequestWithContext(ctx, one.Method, "http://localhost"+one.Path, bytes.NewReader(one.Body))
	if err != nil {
		return nil, errors.New("its method or its path is none of HTTP")
	}
	req.Header = one.Header.Clone()
	return req, nil
}

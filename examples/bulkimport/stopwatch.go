package main

import (
	"sync"
	"time"
)

// stopwatch measures the time in which at least one row waited. The zero stopwatch is ready to use.
type stopwatch struct {
	mu      sync.Mutex
	waiting int
	since   time.Time
	total   time.Duration
}

func (s *stopwatch) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == 0 {
		s.since = time.Now()
	}
	s.waiting++
}

func (s *stopwatch) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	if s.waiting == 0 {
		s.total += time.Since(s.since)
	}
}

// elapsed returns the time up to the last moment in which nobody waited.
func (s *stopwatch) elapsed() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// present returns how long rows have been waiting without a break.
func (s *stopwatch) present() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == 0 {
		return 0
	}
	return time.Since(s.since)
}

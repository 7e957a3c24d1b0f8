// Package incall has what the context of a call has for a limiter. The packages petstore and limiter
// share it.
package incall

import "sync"

// Key is the context's key for a call.
type Key struct{}

// Tickets has the numbers of one call in the queues of limiters.
type Tickets struct {
	mu    sync.Mutex // a limiter of the user may ask from several goroutines
	first ticket     // of a linked list with one ticket for each limiter
}

// ticket is a call's number in the queue of one limiter.
type ticket struct {
	limiter any
	number  uint64
	next    *ticket
}

// Of returns the number for a limiter. The first time it calls issue, with a lock held.
func (t *Tickets) Of(limiter any, issue func() uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first.limiter == nil {
		t.first = ticket{limiter, issue(), nil}
	}
	for found := &t.first; ; found = found.next {
		if found.limiter == limiter {
			return found.number
		}
		if found.next == nil {
			found.next = &ticket{limiter, issue(), nil}
		}
	}
}

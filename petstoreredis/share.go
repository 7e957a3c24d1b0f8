package petstoreredis

import "github.com/petstore/petstore-go/ratelimit"

// share is what this process has had of its share of one window.
type share struct {
	epoch int64 // the last window in which a permit was wanted
	used  int   // permits of that window that count for this process; without Redis, its requests

	takenByOthers int // requests of this share that others had used when Redis began to fail
}

// begin begins a window.
func (s *share) begin(epoch int64) { *s = share{epoch: epoch} }

// grant counts n permits.
func (s *share) grant(n int) { s.used += n }

// giveBack no longer counts a permit of a window, if it is this one.
func (s *share) giveBack(epoch int64) {
	if s.epoch == epoch {
		s.used = max(0, s.used-1)
	}
}

// setTakenByOthers sets how much of this share others have used: they have if a share of what the
// window has left is less than what this share has left. Then the process gets only the former.
//
// For example, three processes share 60 requests a minute. This one has used 5 of its share of 20,
// and the window has 9 left, of which it gets 3. Then the others have taken 20-5-3 = 12 of its
// share, and the limit of the fallback is 20-12 = 8, of which 5 are used.
func (s *share) setTakenByOthers(w ratelimit.Window, processes int) {
	s.takenByOthers = max(0, w.Limit/processes-s.used-(w.Remaining+processes-1)/processes)
}

// of returns the share of a window.
func (s *share) of(w ratelimit.Window, processes int) ratelimit.Window {
	if w.Limit > 0 {
		w.Limit = max(1, w.Limit/processes-s.takenByOthers)
		w.Remaining = min(w.Remaining, max(0, w.Limit-s.used))
	}
	return w
}

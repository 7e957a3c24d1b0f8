package petstoreredis

import "github.com/petstore/petstore-go/ratelimit"

// share counts what this process has used of its share of one window.
type share struct {
	epoch int64 // the last window in which a permit was wanted
	used  int   // permits of that window that count for this process, and requests without Redis

	takenByOthers int // requests of this share that others had used when Redis began to fail
}

func (s *share) begin(epoch int64) { *s = share{epoch: epoch} }

// grant counts n permits.
func (s *share) grant(n int) { s.used += n }

// giveBack subtracts a permit that does not count after all, if it is of this window.
func (s *share) giveBack(epoch int64) {
	if s.epoch == epoch {
		s.used = max(0, s.used-1)
	}
}

// setTakenByOthers sets how many requests of this share other processes have used, at the moment
// when Redis fails. To find out, it divides what the window has left among all processes. If the
// result is less than what this share has left, the others have used the difference.
//
// For example, three processes share 60 requests a minute, 20 each. This process has used 5, so its
// share has 15 left. But the window has only 9 left, which are 3 for each process. So others have
// used 15-3 = 12 requests of this share. The limit of the fallback is 20-12 = 8, of which 5 are
// used.
func (s *share) setTakenByOthers(w ratelimit.Window, processes int) {
	s.takenByOthers = max(0, w.Limit/processes-s.used-(w.Remaining+processes-1)/processes)
}

// of returns the window that the fallback may use: this process's share of the window w.
func (s *share) of(w ratelimit.Window, processes int) ratelimit.Window {
	if w.Limit > 0 {
		w.Limit = max(1, w.Limit/processes-s.takenByOthers)
		w.Remaining = min(w.Remaining, max(0, w.Limit-s.used))
	}
	return w
}

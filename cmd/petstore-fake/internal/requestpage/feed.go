package requestpage

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxChanges is how many changes a feed remembers.
const maxChanges = 1024

// feed knows what has changed lately, for the event streams. Nothing is queued for any of them:
// each asks for what came after the position it has reached. It is safe for concurrent use.
type feed struct {
	mu    sync.Mutex
	at    position
	seqs  [maxChanges]int // of the last changes, 0 for one that is about no request
	wake  chan struct{}   // closed at the next change; nil while no stream waits
	open  context.Context // until the page is closed
	close func()
}

// position is a place in a feed. The zero position is in no feed.
type position struct {
	journal int64 // another one after each clearing, and in each process
	change  int64
}

// String returns the position as the id of an event.
func (p position) String() string { return fmt.Sprintf("%x-%x", p.journal, p.change) }

// parsePosition reads the id of an event. What is none comes to the zero position.
func parsePosition(id string) (p position) {
	if _, err := fmt.Sscanf(id, "%x-%x", &p.journal, &p.change); err != nil || p.String() != id {
		return position{}
	}
	return p
}

func newFeed() *feed {
	open, end := context.WithCancel(context.Background())
	return &feed{at: position{journal: time.Now().UnixNano()}, open: open, close: end}
}

// touch notes that something about a request has changed, or with 0 about anything else.
func (f *feed) touch(seq int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at.change++
	f.seqs[f.at.change%maxChanges] = seq
	f.rouse()
}

// restart notes that the journal was emptied.
func (f *feed) restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = position{journal: f.at.journal + 1}
	f.rouse()
}

// position returns the present position.
func (f *feed) position() position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

// rouse wakes the streams that wait. The caller holds mu.
func (f *feed) rouse() {
	if f.wake != nil {
		close(f.wake)
		f.wake = nil
	}
}

// changed returns a channel that is closed at the next change.
func (f *feed) changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wake == nil {
		f.wake = make(chan struct{})
	}
	return f.wake
}

// since returns the requests that changed after a position, in order and once each, and the present
// position. It reports false if the feed does not reach back that far.
func (f *feed) since(p position) (seqs []int, now position, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	behind := f.at.change - p.change
	if p.journal != f.at.journal || behind < 0 || behind > maxChanges {
		return nil, f.at, false
	}
	for change := p.change + 1; change <= f.at.change; change++ {
		if seq := f.seqs[change%maxChanges]; seq > 0 {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs), f.at, true
}

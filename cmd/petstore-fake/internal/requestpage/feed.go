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

// feed holds the last changes for the event streams. No stream has a queue: each asks for the changes
// after its position. It is safe for concurrent use.
type feed struct {
	mu    sync.Mutex
	at    position
	seqs  [maxChanges]int // of the requests that changed last, 0 for a change of something else
	wake  chan struct{}   // closed at the next change; nil while no stream waits
	open  context.Context // ends when the page is closed
	close func()
}

// position is the number of a change. The zero position belongs to no feed.
type position struct {
	journal int64 // its number; each process and each clearing begins another
	change  int64
}

// String returns the position as the id of an event.
func (p position) String() string { return fmt.Sprintf("%x-%x", p.journal, p.change) }

// parsePosition reads the id of an event. It returns the zero position for any other text.
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

// touch records a change of a request, or with 0 of something else.
func (f *feed) touch(seq int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at.change++
	f.seqs[f.at.change%maxChanges] = seq
	f.wakeStreams()
}

// restart records that the journal was cleared.
func (f *feed) restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = position{journal: f.at.journal + 1}
	f.wakeStreams()
}

// position returns the position of the last change.
func (f *feed) position() position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

// wakeStreams wakes the streams that wait. The caller holds mu.
func (f *feed) wakeStreams() {
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

// since returns the seqs of the requests that changed after a position, sorted and each once, and the
// position of the last change. It reports false if the feed no longer holds all of these changes.
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

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/petstore/petstore-go"
)

// event is what an entry of the journal says of a row or, the last three, of the import.
type event string

const (
	none     event = ""         // no row begins at the line
	waiting  event = "waiting"  // nothing was sent; never written
	sending  event = "sending"  // on the disk before the request leaves
	unsent   event = "unsent"   // it did not leave after all, or the service did not carry it out
	created  event = "created"  // the service has added the pet
	rejected event = "rejected" // the row is no pet, or the service refuses it
	unknown  event = "unknown"  // the pet may have been added

	begun  event = "bulkimport 2" // the first entry, with the format
	closed event = "closed"       // the response that used up or closed the rate limit
	down   event = "down"         // the service has not confirmed the last creates
)

// rowEvents are the events of a row, by number.
var rowEvents = []event{none, waiting, sending, unsent, created, rejected, unknown}

// mayFollow reports whether an event can come after another of the same row. Nothing follows the
// last three: no row is sent again once it has been decided, or cannot be.
func (e event) mayFollow(last event) bool {
	switch e {
	case sending:
		return last == waiting || last == unsent
	case rejected:
		return last == waiting || last == unsent || last == sending
	case unsent, created, unknown:
		return last == sending
	}
	return false
}

// mark is all that memory has of a row: its last event, and where in the journal that stands.
type mark int64

func newMark(e event, at int64) mark { return mark(at)<<3 | mark(slices.Index(rowEvents, e)) }

func (m mark) event() event { return rowEvents[m&7] }

// entry is one line of the journal.
type entry struct {
	Event    event                 `json:"event"`
	Line     int                   `json:"line,omitzero"` // of the input, where the row begins
	ID       int64                 `json:"id,omitzero"`   // of the pet, if created
	Reason   string                `json:"reason,omitzero"`
	Service  string                `json:"service,omitzero"`  // if begun
	Input    string                `json:"input,omitzero"`    // if begun, its SHA-256
	Response *petstore.Observation `json:"response,omitzero"` // if closed
	Tries    int                   `json:"tries,omitzero"`    // creates of unknown outcome, if down
	Time     time.Time             `json:"time,omitzero"`
}

// journal remembers on disk what became of each row. It is safe for concurrent use.
type journal struct {
	path  string
	info  os.FileInfo
	begun entry // what the first entry must be

	mu     sync.Mutex
	file   file
	size   int64  // of the file
	sum    uint32 // checksum of all entries
	marks  []mark // by line of the input
	count  map[event]int
	ids    map[int64]struct{}    // of all created pets
	closed *petstore.Observation // the last
	down   entry                 // the last, unless a create was confirmed since
	err    error                 // the first failure; nothing is written after it

	syncing sync.Mutex // taken before mu
	synced  int64      // size of what is on the disk
}

// file is what the journal needs of an *os.File.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
}

// check returns why an entry cannot follow the ones before it, nil if it can.
func (j *journal) check(e entry) error {
	switch {
	case j.size == claimSize && e.Event != begun:
		return fmt.Errorf("this is no journal of the format %q", begun)
	case j.size == claimSize && e.Service != j.begun.Service:
		return fmt.Errorf("this is the journal of an import into %s, not %s", e.Service, j.begun.Service)
	case j.size == claimSize && e.Input != j.begun.Input:
		return errors.New("the input has changed since this journal was begun: put back what it was, " +
			"or import new rows from a file of their own")
	case j.size == claimSize, e.Event == closed && e.Response != nil, e.Event == down:
		return nil
	case e.Line < 1 || e.Line >= len(j.marks) || j.marks[e.Line].event() == none:
		return fmt.Errorf("no row begins at line %d of the input", e.Line)
	}
	_, seen := j.ids[e.ID]
	if last := j.marks[e.Line].event(); !e.Event.mayFollow(last) || e.Event == created && seen {
		return fmt.Errorf("the row of line %d is %s and cannot become %s", e.Line, last, e.Event)
	}
	return nil
}

// apply takes over an entry that stands at the end of the journal.
func (j *journal) apply(e entry, size int, sum uint32) {
	switch last := j.marks[e.Line].event(); e.Event {
	case begun:
	case closed:
		j.closed = e.Response
	case down:
		j.down = e
	default:
		if e.Event == created {
			j.ids[e.ID] = struct{}{}
		}
		if e.Event == created || e.Event == rejected && last == sending {
			j.down = entry{}
		}
		j.count[last]--
		j.count[e.Event]++
		j.marks[e.Line] = newMark(e.Event, j.size)
	}
	j.size, j.sum = j.size+int64(size), sum
}

// write adds an entry. When it returns nil, the entry outlives the program.
func (j *journal) write(e entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.check(e); j.err != nil || err != nil {
		return errors.Join(j.err, err)
	}
	e.Time = time.Now().UTC().Truncate(time.Millisecond)
	line, sum, err := seal(j.sum, e)
	if err == nil {
		_, err = j.file.WriteAt(line, j.size)
	}
	if err != nil {
		j.err = fmt.Errorf("the journal cannot be written: %w", err)
		return j.err
	}
	j.apply(e, len(line), sum)
	return nil
}

// sync returns when all that was written before it outlives the machine, and is claimed. Callers share
// the disk's time: who waits for another's sync needs at most one more, with all others that wait.
func (j *journal) sync() error {
	mine, _ := j.state()
	j.syncing.Lock()
	defer j.syncing.Unlock()
	size, err := j.state()
	if err != nil || j.synced >= mine {
		return err
	}
	info, err := os.Stat(j.path)
	if err == nil && !os.SameFile(info, j.info) { // another import would not see this one
		err = errors.New("another file has taken its place")
	}
	if err = errors.Join(err, j.file.Sync()); err == nil {
		_, err = j.file.WriteAt(claim(size), 0)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.synced = size; err != nil && j.err == nil { // nobody knows what is on the disk now
		j.err = fmt.Errorf("the journal cannot be written: %w", err)
	}
	return j.err
}

// state returns the size of the journal, and why it cannot be written any more.
func (j *journal) state() (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size, j.err
}

// row returns the last event of the row that begins at a line.
func (j *journal) row(line int) event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.marks[line].event()
}

// rows returns how many rows have one of the events for their last.
func (j *journal) rows(events ...event) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range events {
		n += j.count[e]
	}
	return n
}

// added reports whether a row has added the pet with an id.
func (j *journal) added(id int64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.ids[id]
	return ok
}

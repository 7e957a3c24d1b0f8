package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"time"
	"unique"

	"github.com/petstore/petstore-go"
)

// event is what an entry of the journal says about a row or, the last three, about the import.
type event string

const (
	none     event = ""         // no row begins at the line
	waiting  event = "waiting"  // nothing was sent; never written
	sending  event = "sending"  // on the disk before the request leaves
	unsent   event = "unsent"   // the request did not leave, or the service did not carry it out
	created  event = "created"  // the service has added the pet
	rejected event = "rejected" // the row is no pet, or the service refuses it
	unknown  event = "unknown"  // the pet may have been added

	begun  event = "bulkimport 2" // the first entry, with the format
	closed event = "closed"       // the response that used up or closed the rate limit
	down   event = "down"         // the service has not confirmed the last creates
)

// follows has the last events of a row that an event can come after. Nothing follows created,
// rejected and unknown: such a row is never sent again.
var follows = map[event][]event{
	sending:  {waiting, unsent},
	unsent:   {sending},
	created:  {sending},
	rejected: {waiting, unsent, sending},
	unknown:  {sending},
}

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

// journal keeps the state of each row on disk. It is safe for concurrent use.
type journal struct {
	path  string
	info  os.FileInfo
	begun entry // what the first entry must be

	mu     sync.Mutex
	file   file
	size   int64   // of the file
	sum    uint32  // checksum of all entries
	states []event // by line of the input
	count  map[event]int
	ids    map[int64]struct{}    // of all created pets
	lost   map[int]entry         // the last entries of rows that are rejected or unknown, by line
	closed *petstore.Observation // the last
	down   entry                 // the last, unless a create was confirmed since
	err    error                 // the first failure; nothing is written after it
	failed func(error)           // is called with it

	syncing sync.Mutex // taken before mu
	synced  int64      // bytes that are on the disk, guarded by syncing
}

// file is what the journal needs of an *os.File.
type file interface {
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
		return errors.New("the input has changed since this journal was begun: restore it, " +
			"or import new rows from a file of their own")
	case j.size == claimSize, e.Event == closed && e.Response != nil, e.Event == down:
		return nil
	case e.Line < 1 || e.Line >= len(j.states) || j.states[e.Line] == none:
		return fmt.Errorf("no row begins at line %d of the input", e.Line)
	}
	_, seen := j.ids[e.ID]
	if last := j.states[e.Line]; !slices.Contains(follows[e.Event], last) || e.Event == created && seen {
		return fmt.Errorf("the row of line %d is %s and cannot become %s", e.Line, last, e.Event)
	}
	return nil
}

// apply takes over an entry that stands at the end of the journal.
func (j *journal) apply(e entry, size int, sum uint32) {
	j.size, j.sum = j.size+int64(size), sum
	last := j.states[e.Line]
	switch e.Event {
	case begun:
		return
	case closed:
		j.closed = e.Response
		return
	case down:
		j.down = e
		return
	case created:
		j.ids[e.ID] = struct{}{}
	case rejected, unknown:
		j.lost[e.Line] = e
	}
	if e.Event == created || e.Event == rejected && last == sending {
		j.down = entry{}
	}
	j.count[last]--
	j.count[e.Event]++
	j.states[e.Line] = unique.Make(e.Event).Value() // one string in memory for all rows
}

// write adds an entry. When it returns nil, the entry outlives the program, and sending the machine
// as well.
func (j *journal) write(e entry) error {
	size, err := j.add(e)
	if err == nil && e.Event == sending {
		err = j.sync(size)
	}
	return err
}

// add adds an entry, and returns the size of the journal with it.
func (j *journal) add(e entry) (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.check(e); j.err != nil || err != nil {
		return 0, j.fail(err)
	}
	e.Time = time.Now().UTC().Truncate(time.Millisecond)
	line, sum, err := seal(j.sum, e)
	if err == nil {
		_, err = j.file.WriteAt(line, j.size)
	}
	if err != nil {
		return 0, j.fail(err)
	}
	j.apply(e, len(line), sum)
	return j.size, nil
}

// sync returns when the first size bytes outlive the machine, and are claimed. Concurrent callers
// share the time of the disk: each waits for two syncs at most.
func (j *journal) sync(size int64) error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if size <= j.synced {
		return nil
	}
	j.mu.Lock()
	size, err := j.size, j.err
	j.mu.Unlock()
	if err != nil {
		return err
	}
	info, err := os.Stat(j.path)
	if err == nil && !os.SameFile(info, j.info) { // another import would not see this one
		err = errors.New("another file has taken its place")
	}
	if err = errors.Join(err, j.file.Sync()); err == nil {
		_, err = j.file.WriteAt(claim(size), 0)
	}
	if err == nil {
		j.synced = size
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fail(err)
}

// fail keeps the first error: after it the content of the disk is unknown.
func (j *journal) fail(err error) error {
	if err != nil && j.err == nil {
		j.err = fmt.Errorf("the journal cannot be written: %w", err)
		j.failed(j.err)
	}
	return j.err
}

// close syncs and closes the file.
func (j *journal) close() error { return errors.Join(j.sync(math.MaxInt64), j.file.Close()) }

// row returns the last event of the row that begins at a line.
func (j *journal) row(line int) event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.states[line]
}

// rows returns the number of rows whose last event is one of events.
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

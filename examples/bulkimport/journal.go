package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// event is the last that happened to a row.
type event string

const (
	sending  event = "sending"  // on the disk before the request leaves
	unsent   event = "unsent"   // the service did not carry out the request, or it did not leave
	created  event = "created"  // the service has added the pet
	rejected event = "rejected" // the row is no pet, or the service refuses it
	unknown  event = "unknown"  // the pet may have been added
)

// entry is one line of the journal: about a row, or, if it has no line, about the import.
type entry struct {
	Import string    `json:"import,omitzero"` // what the journal is about; in the first entry
	Until  time.Time `json:"until,omitzero"`  // the rate limit is used up until then
	Line   int       `json:"line,omitzero"`   // of the input, where the row begins
	Event  event     `json:"event,omitzero"`
	ID     int64     `json:"id,omitzero"` // of the pet, if created
	Reason string    `json:"reason,omitzero"`
	Time   time.Time `json:"time"`
}

func (e entry) decided() bool { return e.Event == created || e.Event == rejected || e.Event == unknown }

// journal is the state of each row, in memory and in a file that only grows. An entry is on the disk
// when write returns. A journal is safe for concurrent use.
type journal struct {
	file   *os.File
	sync   func() error
	failed func(error) // is called if nothing can be written

	mu    sync.Mutex
	err   error // of the first write that failed: nothing must follow half an entry
	about string
	rows  map[int]entry
	count map[event]int
	ids   map[int64]bool // of the created pets
	until time.Time
}

func newJournal(f *os.File) *journal {
	return &journal{
		file: f, sync: f.Sync, failed: func(error) {},
		rows: map[int]entry{}, count: map[event]int{}, ids: map[int64]bool{},
	}
}

// openJournal opens the journal at path, or begins it, and locks it. After an error, the file is as
// it was.
func openJournal(path, about string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	j := newJournal(f)
	if err = lock(f); err != nil {
		err = fmt.Errorf("another import is running (%w)", err)
	} else {
		err = j.resume(about)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", path, err), f.Close())
	}
	return j, nil
}

// resume takes over what an earlier import has written. The rows that it was sending are undecided.
func (j *journal) resume(about string) error {
	text, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	if len(text) == 0 {
		if dir, err := os.Open(filepath.Dir(j.file.Name())); err == nil { // makes its name durable, where that can be
			_ = errors.Join(dir.Sync(), dir.Close())
		}
		return j.write(entry{Import: about})
	}
	size, err := j.replay(text)
	if err == nil && j.about != about {
		err = fmt.Errorf("it is about the import of %s, not %s: restore the input, "+
			"or import new rows from a file of their own", j.about, about)
	}
	if err == nil {
		err = j.file.Truncate(int64(size)) // half an entry, whose request never left
	}
	for line, e := range j.rows {
		if e.Event == sending && err == nil {
			err = j.write(entry{Line: line, Event: unknown, Reason: "the import ended before the response came"})
		}
	}
	return err
}

// replay applies the entries of a journal, and returns their length. The last one may be incomplete;
// everything else that is wrong is damage.
func (j *journal) replay(text []byte) (size int, err error) {
	for line := range bytes.Lines(text) {
		var e entry
		body, ok := unseal(line)
		if !ok && line[len(line)-1] != '\n' && size > 0 {
			if _, whole := unseal(append(bytes.Clone(line[:len(line)-1]), '\n')); !whole {
				break // else it is the end of the line that is damaged
			}
		}
		if !ok || json.Unmarshal(body, &e) != nil {
			return 0, fmt.Errorf("damaged at byte %d: restore the file; without this entry, "+
				"a pet could be added twice", size)
		}
		size += len(line)
		j.apply(e)
	}
	return size, nil
}

// apply takes an entry over into memory.
func (j *journal) apply(e entry) {
	j.about += e.Import
	if e.Until.After(j.until) {
		j.until = e.Until
	}
	if e.Line == 0 {
		return
	}
	j.count[j.rows[e.Line].Event]--
	j.count[e.Event]++
	j.rows[e.Line] = e
	if e.Event == created {
		j.ids[e.ID] = true
	}
}

// write writes an entry to the disk and then takes it over. A row with an outcome keeps it.
func (j *journal) write(e entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.add(e)
}

// add is write for those who hold the lock.
func (j *journal) add(e entry) error {
	e.Time = time.Now().UTC().Truncate(time.Millisecond)
	text, err := json.Marshal(e)
	if err = errors.Join(j.err, err); err == nil && j.rows[e.Line].decided() {
		err = fmt.Errorf("the row of line %d is %s and cannot become %s", e.Line, j.rows[e.Line].Event, e.Event)
	}
	if err == nil {
		_, err = j.file.Write(seal(append(text, '\n')))
	}
	if err == nil {
		err = j.sync()
	}
	if err == nil {
		j.apply(e)
	} else if j.err == nil {
		j.err = fmt.Errorf("the journal cannot be written: %w", err)
		j.failed(j.err)
	}
	return j.err
}

// close notes until when the rate limit is used up, and reports whether that was not known.
func (j *journal) close(until time.Time) bool {
	until = until.Add(time.Second - 1).Truncate(time.Second)
	j.mu.Lock()
	defer j.mu.Unlock()
	return until.After(j.until) && j.add(entry{Until: until}) == nil
}

// row returns the last entry of the row that begins at a line; the zero entry before the first.
func (j *journal) row(line int) entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rows[line]
}

// number returns how many rows have one of events as their last.
func (j *journal) number(events ...event) (n int) {
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
	return j.ids[id]
}

// seal returns a line with its checksum before it.
func seal(line []byte) []byte {
	return append(fmt.Appendf(nil, "%08x ", crc32.Checksum(line, crc32.MakeTable(crc32.Castagnoli))), line...)
}

// unseal returns a line without its checksum, and whether that is right.
func unseal(line []byte) ([]byte, bool) {
	const size = len("00000000 ")
	return line[min(size, len(line)):], len(line) > size && bytes.Equal(line, seal(line[size:]))
}

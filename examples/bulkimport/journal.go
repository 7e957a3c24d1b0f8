package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// event is what the journal says of a row.
type event string

const (
	sending  event = "sending"  // on the disk before the request leaves
	unsent   event = "unsent"   // it did not leave after all, or the service has not carried it out
	created  event = "created"  // the service has added the pet
	rejected event = "rejected" // the row is no pet, or the service takes it for none
	unknown  event = "unknown"  // the pet may have been added
)

// mayFollow reports whether an event can come after another of the same row, "" being none. Nothing follows
// the last three: no row is sent again once it has been decided, or cannot be.
func (e event) mayFollow(last event) bool {
	switch e {
	case sending:
		return last == "" || last == unsent
	case rejected:
		return last == "" || last == unsent || last == sending
	case unsent, created, unknown:
		return last == sending
	}
	return false
}

// entry is one line of the journal.
type entry struct {
	Line   int       `json:"line"` // of the input, where the row begins
	Event  event     `json:"event"`
	ID     int64     `json:"id,omitzero"` // of the pet, if created
	Reason string    `json:"reason,omitzero"`
	Time   time.Time `json:"time"`
}

// done reports whether the row must not be sent, or not again.
func (e entry) done() bool { return e.Event != "" && e.Event != unsent }

// undecided reports whether the row's pet may or may not have been added. A row of which the journal last says
// that it is being sent is undecided too, once the import is over.
func (e entry) undecided() bool { return e.Event == sending || e.Event == unknown }

// heading is the first line of a journal: what it is the journal of.
type heading struct {
	Journal string `json:"journal"`
	Service string `json:"service"`
	Input   string `json:"input"` // the SHA-256 of the input
}

const journalFormat = "bulkimport 1"

// journal remembers on disk what became of each row. Each change of a row is one line, written at once. It is
// safe for concurrent use.
type journal struct {
	mu      sync.Mutex
	file    file
	last    map[int]entry // by line of the input
	count   map[event]int // rows, by their last event
	written int           // entries
	err     error         // the first failure; nothing is written after it

	syncing sync.Mutex // taken before mu
	synced  int        // entries that are on the disk
}

// file is what the journal needs of an *os.File.
type file interface {
	io.WriteCloser
	Sync() error
}

// openJournal opens the journal at path, or begins it. A line that was being written when the program died is
// cut off: what it was to say has not been acted upon.
func openJournal(path string, h heading) (*journal, error) {
	h.Journal = journalFormat
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	j, err := resume(f, h)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return j, syncDir(filepath.Dir(path))
}

func resume(f *os.File, h heading) (*journal, error) {
	content, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	last, whole, err := replay(content, h)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(int64(whole)); err != nil {
		return nil, err
	}
	if _, err := f.Seek(int64(whole), io.SeekStart); err != nil {
		return nil, err
	}
	if whole == 0 {
		err = writeLine(f, h)
	}
	j := &journal{file: f, last: last, count: map[event]int{}}
	for _, e := range last {
		j.count[e.Event]++
	}
	return j, errors.Join(err, j.giveUpSending(), f.Sync())
}

// giveUpSending is for the rows that were being sent when the program died: their pets may be there.
func (j *journal) giveUpSending() error {
	for _, line := range slices.Sorted(maps.Keys(j.last)) {
		if j.last[line].Event != sending {
			continue
		}
		const reason = "the import ended while the request was on its way"
		if err := j.write(entry{Line: line, Event: unknown, Reason: reason}); err != nil {
			return err
		}
	}
	return nil
}

// replay returns the last entry of each row, and how much of the journal are whole lines.
func replay(content []byte, want heading) (map[int]entry, int, error) {
	whole := bytes.LastIndexByte(content, '\n') + 1
	if whole == 0 {
		return map[int]entry{}, 0, wantPrefix(content, want)
	}
	first, rest, _ := bytes.Cut(content[:whole], []byte("\n"))
	var got heading
	if err := json.Unmarshal(first, &got); err != nil || got.Journal != want.Journal {
		return nil, 0, fmt.Errorf("this is no journal of the format %q", want.Journal)
	}
	switch {
	case got.Service != want.Service:
		return nil, 0, fmt.Errorf("this is the journal of an import into %s, not %s", got.Service, want.Service)
	case got.Input != want.Input:
		return nil, 0, errors.New("the input has changed since this journal was begun: put back what it was, " +
			"or import new rows from a file of their own")
	}
	last := map[int]entry{}
	number := 1
	for line := range bytes.Lines(rest) {
		number++
		var e entry
		if err := json.Unmarshal(line, &e, json.RejectUnknownMembers(true)); err != nil {
			return nil, 0, fmt.Errorf("line %d is damaged: %w", number, err)
		}
		if e.Line < 1 || !e.Event.mayFollow(last[e.Line].Event) {
			return nil, 0, fmt.Errorf("line %d contradicts the lines before it", number)
		}
		last[e.Line] = e
	}
	return last, whole, nil
}

// wantPrefix refuses a file that is not even the beginning of a heading.
func wantPrefix(content []byte, want heading) error {
	var line bytes.Buffer
	if err := writeLine(&line, want); err != nil {
		return err
	}
	if !bytes.HasPrefix(line.Bytes(), content) {
		return fmt.Errorf("this is no journal of the format %q", want.Journal)
	}
	return nil
}

func writeLine(w io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// row returns the last entry of the row that begins at a line, the zero entry if there is none.
func (j *journal) row(line int) entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last[line]
}

// rows returns how many rows have a last entry of the given events.
func (j *journal) rows(events ...event) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, e := range events {
		n += j.count[e]
	}
	return n
}

// write adds an entry. When it returns nil, the entry outlives the program.
func (j *journal) write(e entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	if last := j.last[e.Line].Event; !e.Event.mayFollow(last) {
		return fmt.Errorf("line %d is %q and cannot become %q", e.Line, last, e.Event)
	}
	e.Time = time.Now().UTC().Truncate(time.Millisecond)
	if err := writeLine(j.file, e); err != nil {
		j.err = fmt.Errorf("the journal cannot be written: %w", err)
		return j.err
	}
	j.count[j.last[e.Line].Event]--
	j.count[e.Event]++
	j.last[e.Line] = e
	j.written++
	return nil
}

// sync returns when all that was written before it outlives the machine. Callers share the disk's time: who
// waits for another's sync to end needs at most one more, together with all the others that wait.
func (j *journal) sync() error {
	j.mu.Lock()
	mine := j.written
	j.mu.Unlock()

	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	written, err := j.written, j.err
	j.mu.Unlock()
	if err != nil || j.synced >= mine {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return j.fail(fmt.Errorf("the journal cannot be written: %w", err))
	}
	j.synced = written
	return nil
}

// fail keeps the first failure: after a failed sync nobody knows what is on the disk.
func (j *journal) fail(err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = err
	}
	return j.err
}

// close ends the journal.
func (j *journal) close() error { return errors.Join(j.sync(), j.file.Close()) }

// syncDir makes the name of a new file as durable as its content. Windows has no such call.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

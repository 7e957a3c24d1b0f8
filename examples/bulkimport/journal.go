package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// event is the last that happened to a row.
type event string

const (
	waiting  event = "waiting"  // nothing was sent; never written
	sending  event = "sending"  // on the disk before the request leaves
	unsent   event = "unsent"   // the request did not leave, or the service did not carry it out
	created  event = "created"  // the service has added the pet
	rejected event = "rejected" // the row is no pet, or the service refuses it
	unknown  event = "unknown"  // the pet may have been added
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

// entry is what the journal has about a row.
type entry struct {
	Event  event     `json:"event"`
	ID     int64     `json:"id,omitzero"` // of the pet, if created
	Reason string    `json:"reason,omitzero"`
	Time   time.Time `json:"time"`
}

// The buckets of a journal: entries by line, and what is about the import, as JSON.
const (
	rowsBucket   = "rows"
	importBucket = "import"
)

// The keys of importBucket.
const (
	begunKey  = "begun"  // the origin
	closedKey = "closed" // the petstore.Observation that used up or closed the rate limit
	downKey   = "down"   // the outage
)

// origin is what a journal is about.
type origin struct {
	Service string `json:"service"`
	Input   string `json:"input"` // its SHA-256
}

// journal keeps the state of each row in a bbolt database: what is written there outlives the
// program and the machine. It is safe for concurrent use.
type journal struct {
	db     *bbolt.DB
	file   os.FileInfo
	failed func(error) // is called if nothing can be written

	mu    sync.Mutex // is held during a write
	count map[event]int
	ids   map[int64]bool // of the created pets
}

// openJournal opens the journal at path, or begins it, and locks it.
func openJournal(path, service string, in *input) (*journal, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Nanosecond}) // for the lock
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return nil, fmt.Errorf("another import is running: it has locked %s", path)
	} else if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	j := &journal{db: db, failed: func(error) {}, count: map[event]int{waiting: in.rows}, ids: map[int64]bool{}}
	if err := j.resume(origin{service, in.sum}); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", path, err), db.Close())
	}
	return j, nil
}

// resume takes over what an earlier import has written. The rows that it was sending are undecided.
func (j *journal) resume(this origin) error {
	if dir, err := os.Open(filepath.Dir(j.db.Path())); err == nil { // makes the name durable, where that can be
		_ = errors.Join(dir.Sync(), dir.Close())
	}
	begun := this
	cut, err := j.load()
	if err == nil {
		err = j.get(importBucket, begunKey, &begun)
	}
	switch {
	case err != nil:
		return err
	case begun.Service != this.Service:
		return fmt.Errorf("this is the journal of an import into %s, not %s", begun.Service, this.Service)
	case begun.Input != this.Input:
		return errors.New("the input has changed since this journal was begun: restore it, " +
			"or import new rows from a file of their own")
	}
	err = j.keep(begunKey, this)
	for _, line := range cut {
		lost := entry{Event: unknown, Reason: "the import ended before the response came"}
		err = errors.Join(err, j.write(line, lost))
	}
	return err
}

// load counts the rows by their last event, and returns the lines of those that were being sent.
func (j *journal) load() (cut []int, err error) {
	if j.file, err = os.Stat(j.db.Path()); err != nil {
		return nil, err
	}
	err = j.db.Update(func(tx *bbolt.Tx) error {
		rows, err1 := tx.CreateBucketIfNotExists([]byte(rowsBucket))
		_, err2 := tx.CreateBucketIfNotExists([]byte(importBucket))
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		return rows.ForEach(func(key, text []byte) error {
			var e entry
			line, err := strconv.Atoi(string(key))
			if err = errors.Join(err, json.Unmarshal(text, &e)); e.Event == sending {
				cut = append(cut, line)
			}
			j.tally(waiting, e)
			return err
		})
	})
	return cut, err
}

// tally counts an entry of a row whose last event was another.
func (j *journal) tally(last event, e entry) {
	j.count[last]--
	j.count[e.Event]++
	if e.Event == created {
		j.ids[e.ID] = true
	}
}

// rowKey returns the key of the row that begins at a line of the input.
func rowKey(line int) string { return fmt.Sprintf("%012d", line) }

// write replaces the entry of a row.
func (j *journal) write(line int, e entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	last := j.row(line).Event
	info, err := os.Stat(j.db.Path())
	if err == nil && !os.SameFile(info, j.file) { // another import would not see this one
		err = errors.New("another file has taken its place")
	} else if !slices.Contains(follows[e.Event], last) {
		err = fmt.Errorf("the row of line %d is %s and cannot become %s", line, last, e.Event)
	}
	if err != nil {
		return j.fail(err)
	}
	e.Time = time.Now().UTC().Truncate(time.Millisecond)
	if err := j.put(rowsBucket, rowKey(line), e); err != nil {
		return err
	}
	j.tally(last, e)
	return nil
}

// keep stores what the next run must know about the import.
func (j *journal) keep(key string, value any) error { return j.put(importBucket, key, value) }

// put stores a value. When it returns nil, that is on the disk.
func (j *journal) put(bucket, key string, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		err = j.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(bucket)).Put([]byte(key), text) })
	}
	return j.fail(err)
}

func (j *journal) fail(err error) error {
	if err != nil {
		err = fmt.Errorf("the journal cannot be written: %w", err)
		j.failed(err)
	}
	return err
}

// get reads a value, if there is one.
func (j *journal) get(bucket, key string, value any) error {
	return j.db.View(func(tx *bbolt.Tx) error {
		if text := tx.Bucket([]byte(bucket)).Get([]byte(key)); text != nil {
			return json.Unmarshal(text, value)
		}
		return nil
	})
}

// row returns the last entry of the row that begins at a line.
func (j *journal) row(line int) entry {
	e := entry{Event: waiting}
	if err := j.get(rowsBucket, rowKey(line), &e); err != nil {
		_ = j.fail(err)
	}
	return e
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
	return j.ids[id]
}

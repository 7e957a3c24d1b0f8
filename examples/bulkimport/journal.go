package main

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"
)

// The states of a row; waiting is a state of the import.
const (
	sending   = "sending"   // on the disk before the request leaves
	unsent    = "unsent"    // the service did not carry out the request, or it did not leave
	created   = "created"   // the service has added the pet
	rejected  = "rejected"  // the service refuses the pet
	undecided = "undecided" // the pet may have been added
	waiting   = "waiting"   // for the rate limit
)

// journal is the state of each row, in memory and in a file of records that only grows.
type journal struct {
	file  *os.File
	sync  func() error   // of the file
	err   error          // of the first write that failed: nothing must follow half a record
	rows  map[int]string // the last state of each, from row 1
	ids   map[int64]bool // of the created pets
	until time.Time      // the end of the last wait
}

// openJournal opens the journal at path, or begins it, and locks it.
func openJournal(path, about string) (*journal, error) {
	if err := checkRegular(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{file: f, sync: f.Sync, rows: map[int]string{}, ids: map[int64]bool{}}
	if err = lock(f); err != nil {
		err = fmt.Errorf("another import is running (%w)", err)
	} else if err = j.resume(about); err == nil {
		return j, nil
	}
	return nil, errors.Join(fmt.Errorf("journal %s: %w", path, err), f.Close())
}

// checkRegular refuses a path that exists and is not a regular file: reading a named pipe, for
// instance, would block.
func checkRegular(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}

// resume takes over what an earlier import has written. After an error, the file is as it was.
func (j *journal) resume(about string) error {
	all, err := io.ReadAll(j.file)
	whole, wrong := j.replay(string(all), seal("import "+about))
	if err = cmp.Or(err, wrong); err != nil {
		return err
	}
	if err = j.file.Truncate(int64(whole)); err != nil || whole > 0 {
		return err
	}
	if dir, err := os.Open(filepath.Dir(j.file.Name())); err == nil { // makes the file's name durable, where a system can
		_ = errors.Join(dir.Sync(), dir.Close())
	}
	return j.write("import " + about)
}

// replay takes over the records of a journal, and returns their length. An incomplete record may
// follow them: its request never left.
func (j *journal) replay(all, first string) (whole int, err error) {
	if len(all) < 2*len(first) { // nothing was sent before the second record was there
		n := min(len(all), len("import ")) // a changed bit spoils one half at most
		if all[:n/2] != first[:n/2] && all[n/2:n] != first[n/2:n] {
			return 0, errors.New("this is another file: move it away")
		}
		return 0, nil
	}
	for ; len(all)-whole >= len(first); whole += len(first) {
		record := all[whole : whole+len(first)]
		if record != seal(record[:textSize]) {
			return 0, fmt.Errorf("damaged at byte %d: restore it; without this record, a pet could be added twice", whole)
		} else if whole == 0 && record != first {
			return 0, errors.New("it is about another service, or the file has changed: restore it")
		}
		row, state, id := 0, "", int64(0)
		_, _ = fmt.Sscan(record, &row, &state, &id) // the first record has none of them
		j.apply(row, state, id)
	}
	for row, state := range j.rows {
		if state == sending {
			j.rows[row] = undecided
		}
	}
	return whole, nil
}

func (j *journal) apply(row int, state string, id int64) {
	switch j.rows[row] = state; state {
	case created:
		j.ids[id] = true
	case waiting:
		j.until = time.Unix(id, 0)
	}
}

// set takes over the state of a row, with the id of a created pet, and writes it to the disk.
func (j *journal) set(row int, state string, id int64) error {
	j.apply(row, state, id)
	return j.write(fmt.Sprintf("%d %s %d", row, state, id))
}

func (j *journal) write(text string) error {
	if j.err == nil {
		_, j.err = j.file.WriteString(seal(text))
	}
	if j.err == nil {
		j.err = j.sync()
	}
	return j.err
}

const textSize = 72 // enough for the longest text

// seal returns a text as a record, with its checksum. All records have the same size.
func seal(text string) string {
	text = fmt.Sprintf("%-*s", textSize, text)
	return fmt.Sprintf("%s %08x\n", text, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

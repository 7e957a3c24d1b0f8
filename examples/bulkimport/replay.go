package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// The first line of a journal claims how long that is at least, so that one which has lost its end
// differs from one of an import that was killed: entries beyond the claim have had no effect yet.
const claimSize = 15

func claim(size int64) []byte { return fmt.Appendf(nil, "%*d\n", claimSize-1, size) }

// sealed ends the other lines. Its checksum is that of all so far: none can be missing, or come
// twice.
func sealed(sum uint32) string { return fmt.Sprintf(`,"sum":"%08x"}`+"\n", sum) }

func addSum(sum uint32, line []byte) uint32 {
	return crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), line)
}

// seal encodes a line after lines of a checksum, and returns the next checksum.
func seal(sum uint32, e entry) ([]byte, uint32, error) {
	line, err := json.Marshal(e, jsonv1.FormatDurationAsNano(true))
	if err != nil {
		return nil, 0, err
	}
	line = line[:len(line)-1]
	sum = addSum(sum, line)
	return append(line, sealed(sum)...), sum, nil
}

// unseal decodes a line, which it overwrites, and reports whether it has its checksum.
func unseal(sum uint32, line []byte) (e entry, _ uint32, ok bool) {
	body := line[:max(0, len(line)-len(sealed(0)))]
	sum = addSum(sum, body)
	ok = string(line[len(body):]) == sealed(sum)
	err := json.Unmarshal(append(body, '}'), &e, jsonv1.FormatDurationAsNano(true))
	return e, sum, ok && err == nil
}

// openJournal opens the journal at path, or begins it, and locks it.
func openJournal(path, service string, in *input) (*journal, error) {
	j := &journal{
		path: path, begun: entry{Event: begun, Service: service, Input: in.sum},
		states: in.states, count: map[event]int{waiting: in.rows},
		ids: map[int64]struct{}{}, lost: map[int]entry{}, failed: func(error) {},
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := j.begin(); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("another import is running: it has locked %s (%w)", path, err), f.Close())
	}
	if err := j.resume(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return j, nil
}

// begin makes the journal appear with its first entry or not at all: an empty one has lost it.
func (j *journal) begin() error {
	line, _, err := seal(0, j.begun)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(j.path), filepath.Base(j.path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(append(claim(int64(claimSize+len(line))), line...))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), j.path); err == nil || errors.Is(err, fs.ErrExist) { // by another import
		return nil
	}
	return os.Rename(f.Name(), j.path) // as not all disks have links
}

func (j *journal) resume(f *os.File) (err error) {
	j.file = f
	if dir, err := os.Open(filepath.Dir(j.path)); err == nil { // makes the name durable, where that can be
		_ = errors.Join(dir.Sync(), dir.Close())
	}
	if j.info, err = f.Stat(); err == nil {
		err = j.replay(f)
	}
	if err == nil {
		err = f.Truncate(j.size)
	}
	for line, state := range j.states {
		if err == nil && state == sending {
			err = j.write(entry{Line: line, Event: unknown, Reason: "the import ended before the response came"})
		}
	}
	if err != nil {
		return err
	}
	return j.sync(math.MaxInt64)
}

// replay takes over the whole lines of a journal. The one that was being written when the program
// died is left out: what it was to say has not been acted upon.
func (j *journal) replay(f io.Reader) error {
	r := bufio.NewReaderSize(f, 1<<16)
	first, _ := r.ReadSlice('\n')
	claimed, err := strconv.ParseInt(string(bytes.TrimSpace(first)), 10, 64)
	if err != nil || len(first) != claimSize {
		return fmt.Errorf("this is no journal of the format %q, or damaged", begun)
	}
	j.size = claimSize
	for number := 2; ; number++ {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) && (j.size < claimed || j.size == claimSize) {
			return fmt.Errorf("it is damaged: %d bytes at its end are missing", claimed-j.size)
		} else if errors.Is(err, io.EOF) {
			return nil
		}
		size := len(line)
		e, sum, ok := unseal(j.sum, line)
		if !ok || err != nil {
			return fmt.Errorf("line %d is damaged", number)
		}
		if err := j.check(e); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		j.apply(e, size, sum)
	}
}

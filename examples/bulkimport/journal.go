package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/petstore/petstore-go"
)

// The outcomes of a row.
const (
	created   = "created"   // the service has added the pet
	rejected  = "rejected"  // the service refuses the pet
	undecided = "undecided" // the pet may have been added
)

// journal is a file with a line for each row that was sent: the row, a tab, the ID of its pet, and
// the outcome. The row and the tab are written before the request is sent. So a line without an
// outcome is about the row that was being sent when the program was killed.
type journal struct {
	file   *os.File
	size   int64               // in bytes, of the lines that have an outcome
	known  map[string][]string // by row, the outcomes of all rows with this text
	number map[string]int      // of rows with an outcome
	row    string              // the row that is being added
	base   http.RoundTripper
}

// openJournal opens a journal, or begins it.
func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	j := &journal{file: file, known: map[string][]string{}, number: map[string]int{}}
	for line := range strings.Lines(string(text)) {
		row, end, begun := strings.Cut(line, "\t")
		if ended := strings.HasSuffix(line, "\n"); ended && !begun {
			return nil, fmt.Errorf("%s is damaged: %.200q", path, line)
		} else if !begun {
			break // the request was not sent
		} else if !ended {
			end = " " + undecided + "\n"
			line, err = line+end, errors.Join(err, j.write(end))
		}
		j.known[row] = append(j.known[row], strings.TrimSpace(end[strings.LastIndex(end, " ")+1:]))
		j.size += int64(len(line))
	}
	return j, errors.Join(err, j.drop())
}

// RoundTrip begins a line. The request already has its permit, so a SIGKILL during a wait for the
// permit leaves no row undecided. After a failed request, the line stays until the next request. So
// a SIGKILL during the wait after a 429 leaves the row undecided, although no pet was added.
func (j *journal) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := errors.Join(j.drop(), j.write(j.row+"\t")); err != nil {
		return nil, fmt.Errorf("%w: %w", petstore.ErrNotSent, err)
	}
	return j.base.RoundTrip(r)
}

// end ends the line that was begun. The id is that of the pet, or 0.
func (j *journal) end(id int64, outcome string) error {
	end := fmt.Sprintf("%d %s\n", id, outcome)
	j.size += int64(len(j.row + "\t" + end))
	j.number[outcome]++
	return j.write(end)
}

// drop removes a line without an outcome: the service has not carried out the request.
func (j *journal) drop() error { return j.file.Truncate(j.size) }

// write returns when the text is on the disk.
func (j *journal) write(text string) error {
	_, err := j.file.WriteString(text)
	return errors.Join(err, j.file.Sync())
}

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/petstore/petstore-go"
)

// job is the import of one file, and the files that belong to it.
type job struct {
	*importer
	input     string
	record    string // the journal's path
	lock      string
	undecided string
	rejected  string
	start     time.Time
}

func newJob(input, dir string) *job {
	if dir == "" {
		dir = filepath.Dir(input)
	}
	base := filepath.Join(dir, filepath.Base(input))
	return &job{
		input:     input,
		record:    base + ".journal",
		lock:      base + ".lock",
		undecided: base + ".undecided.csv",
		rejected:  base + ".rejected.csv",
		start:     time.Now(),
	}
}

// run does what is left of the job. It returns false and the reason if nothing could be begun, and true and the
// reason if rows are left.
func (j *job) run(ctx context.Context, to service, stdout, stderr io.Writer) (begun bool, err error) {
	rows, sum, err := j.read()
	if err != nil {
		return false, err
	}
	lock, err := j.reserve()
	if err != nil {
		return false, err
	}
	defer func() { _ = lock.Unlock() }() // as the end of the program would, however it comes
	if err := j.open(ctx, rows, heading{Service: to.name, Input: sum}, to); err != nil {
		return false, err
	}
	defer j.stop(nil)
	fmt.Fprintf(stdout, "importing %s into %s\n", j.input, to.name)
	if done := j.decided(); done > 0 {
		fmt.Fprintf(stdout, "%d of %d rows were done before, says %s\n", done, len(j.rows), j.record)
	}
	err = j.importRows(ctx, stderr)
	if closed := j.journal.close(); err == nil {
		err = closed
	}
	j.summarize(stdout)
	return true, err
}

// read returns the rows of the input and its SHA-256.
func (j *job) read() ([]row, string, error) {
	content, err := os.ReadFile(j.input)
	if err != nil {
		return nil, "", err
	}
	rows, err := readRows(j.input, content)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", j.input, err)
	}
	sum := sha256.Sum256(content)
	return rows, hex.EncodeToString(sum[:]), nil
}

// reserve keeps other programs from doing the same job.
func (j *job) reserve() (*flock.Flock, error) {
	if err := os.MkdirAll(filepath.Dir(j.lock), 0o750); err != nil {
		return nil, err
	}
	lock := flock.New(j.lock)
	locked, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, err
	case !locked:
		return nil, fmt.Errorf("another import of %s is running: it holds %s", j.input, j.lock)
	}
	return lock, nil
}

// open makes the importer, its client and its journal.
func (j *job) open(ctx context.Context, rows []row, h heading, to service) error {
	j.importer = &importer{rows: rows}
	j.stopping, j.stop = context.WithCancelCause(ctx)
	var err error
	if j.client, err = to.connect(petstore.WithLimiter(&gate{petstore.NewLimiter(), j.importer})); err != nil {
		return err
	}
	j.journal, err = openJournal(j.record, h)
	return err
}

// importRows adds the rows and writes the reports, and shows how far it is.
func (j *job) importRows(ctx context.Context, stderr io.Writer) error {
	shown, end := context.WithCancel(context.WithoutCancel(ctx))
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		showProgress(shown, j.importer, stderr)
	}()
	err := j.importer.run(ctx)
	err = errors.Join(err, j.report(ctx))
	end()
	<-gone
	return err
}

// report writes the reports. When an import is stopped, be it now, people do not want to wait for the catalogue.
func (j *job) report(ctx context.Context) error {
	if j.stopping.Err() != nil {
		var cancel func()
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
	}
	return errors.Join(j.writeRejected(j.rejected), j.writeUndecided(ctx, j.undecided))
}

func (j *job) summarize(w io.Writer) {
	n := j.journal.rows
	fmt.Fprintf(w, "%d rows: %d created, %d undecided, %d rejected, %d left\n",
		len(j.rows), n(created), n(unknown, sending), n(rejected), j.left())
	fmt.Fprintf(w, "%s, of which %s waiting for the rate limit\n",
		time.Since(j.start).Round(100*time.Millisecond), j.waits.elapsed().Round(100*time.Millisecond))
	if n(unknown, sending) > 0 {
		fmt.Fprintf(w, "undecided, for a person to look at: %s\n", j.undecided)
	}
	if n(rejected) > 0 {
		fmt.Fprintf(w, "rejected, with reasons: %s\n", j.rejected)
	}
}

// advice says what ended an import, and what to do about it.
func advice(err error) string {
	if limited, ok := errors.AsType[*petstore.RateLimitError](err); ok {
		closed, when := "rate limit", "later"
		if limited.Scope != "" {
			closed += " (" + string(limited.Scope) + ")"
		}
		if !limited.RetryAt.IsZero() {
			when = "after " + limited.RetryAt.Format(time.RFC1123)
		}
		return fmt.Sprintf("the %s lets nothing through: run it again %s to go on", closed, when)
	}
	if errors.Is(err, petstore.ErrUnauthorized) {
		return fmt.Sprintf("%v: run it again with another key to go on", err)
	}
	return fmt.Sprintf("%v: run it again to go on", err)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/petstore/petstore-go"
)

// job is the import of one file.
type job struct {
	importer
	input *input
	base  string // of the names of the files that it writes
	to    service
	gate  *gate
}

// grace is how long what is on its way may take after an interrupt, the lists for the report included.
const grace = 8 * time.Second

// newJob opens the journal. An error means that nothing was begun.
func newJob(ctx context.Context, in *input, to service, o options) (*job, error) {
	j := &job{input: in, base: in.path, to: to}
	if o.dir != "" {
		j.base = filepath.Join(o.dir, filepath.Base(in.path))
	}
	j.patience = o.patience
	j.stopping, j.stop = context.WithCancelCause(ctx)
	j.gate = &gate{Limiter: petstore.NewLimiter(), stopping: j.stopping, stop: j.stop}
	var err error
	if j.client, err = to.connect(petstore.WithLimiter(j.gate)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(j.base), 0o750); err != nil {
		return nil, err
	}
	if j.journal, err = openJournal(j.base+".journal", to.name, in); err != nil {
		return nil, err
	}
	if j.gate.journal = j.journal; o.now {
		j.journal.closed, j.journal.down = nil, entry{}
	}
	return j, nil
}

// run imports what is left and writes the reports. It returns why rows are left.
func (j *job) run(ctx context.Context, s *summary, results, stderr io.Writer) error {
	fmt.Fprintf(results, "importing %s into %s\n", j.input.path, j.to.name)
	if done := j.decided(); done > 0 {
		fmt.Fprintf(results, "%d of %d rows were done before, says %s\n", done, j.input.rows, j.journal.path)
	}
	defer j.summarize(s, results)
	wire, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
	shown, end := context.WithCancel(wire)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		showProgress(shown, j, stderr)
	}()
	if seen := j.journal.closed; seen != nil { // else each restart would ask a closed limit, and earn a ban
		_, _ = j.client.ListPets(context.WithValue(ctx, seenKey{}, seen), petstore.ListPetsParams{})
	}
	next, stop := iter.Pull2(j.input.all(io.Discard))
	j.next = next
	err := j.importer.run(wire)
	stop()
	err = errors.Join(err, j.report(wire))
	end()
	<-gone
	return errors.Join(err, j.journal.sync(), j.journal.file.Close())
}

// decided returns how many rows have come to their end, for now or for ever.
func (j *job) decided() int { return j.journal.rows(created, rejected, unknown) }

func (j *job) summarize(s *summary, w io.Writer) {
	n := j.journal.rows
	*s = summary{j.to.name, j.input.rows, n(created), n(unknown, sending), n(rejected), j.left()}
	fmt.Fprintf(w, "%d rows: %d created, %d undecided, %d rejected, %d left\n",
		s.Rows, s.Created, s.Undecided, s.Rejected, s.Left)
	if s.Undecided > 0 {
		fmt.Fprintf(w, "undecided, for a person to look at: %s%s\n", j.base, undecidedReport)
	}
	if s.Rejected > 0 {
		fmt.Fprintf(w, "rejected, with reasons: %s%s\n", j.base, rejectedReport)
	}
}

// advice says what ended an import, and what to do about it.
func advice(err error) string {
	limited, ok := errors.AsType[*petstore.RateLimitError](err)
	if !ok {
		return fmt.Sprintf("%v: run it again to go on", err)
	}
	closed, when := "the rate limit is closed", "later"
	switch limited.Scope {
	case petstore.ScopeDay:
		closed = "the day's quota is used up"
	case petstore.ScopeBan:
		closed = "the service has banned the key"
	}
	if !limited.RetryAt.IsZero() {
		when = "after " + limited.RetryAt.Format(time.RFC1123)
	}
	return fmt.Sprintf("%s (%v): run it again %s, or with -now if the key or plan is another", closed, err, when)
}

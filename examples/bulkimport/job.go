package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go"
)

// job is the import of one file: it adds the pets of the rows, each at most once, ever. One
// goroutine decides, and each create has a goroutine of its own.
type job struct {
	input    *input
	base     string // of the names of the files that the job writes
	to       service
	journal  *journal
	client   *petstore.Client // sends through a gate
	stopping context.Context  // ends when no more rows are to be sent; its cause is the reason
	stop     context.CancelCauseFunc
	health
	learned atomic.Pointer[petstore.Observation] // the response that closed the rate limit in an earlier run
	flying  atomic.Int32                         // creates without an outcome
	done    chan outcome
}

// outcome is that of a create.
type outcome struct {
	row    row
	result *petstore.CreatePetResult
	err    error
}

// grace is how long requests may take after an interrupt, those of the report included.
const grace = 8 * time.Second

// newJob opens the journal. An error means that nothing was begun.
func newJob(ctx context.Context, in *input, to service, o options) (*job, error) {
	j := &job{input: in, base: in.file, to: to, done: make(chan outcome, steady)}
	if o.dir != "" {
		j.base = filepath.Join(o.dir, filepath.Base(in.file))
	}
	j.stopping, j.stop = context.WithCancelCause(ctx)
	var err error
	if j.client, err = to.connect(petstore.WithLimiter(&gate{petstore.NewLimiter(), j})); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(j.base), 0o750); err != nil {
		return nil, err
	}
	if j.journal, err = openJournal(j.base+".journal", to.name, in); err != nil {
		return nil, err
	}
	j.journal.failed = j.stop
	var closed *petstore.Observation
	var down outage
	if !o.now {
		err = errors.Join(j.journal.get(importBucket, closedKey, &closed), j.journal.get(importBucket, downKey, &down))
	}
	j.learned.Store(closed)
	j.begin(o.patience, down)
	return j, err
}

// run imports the rows that are left and writes the reports. It returns why rows are left.
func (j *job) run(ctx context.Context, s *summary, results, stderr io.Writer) error {
	fmt.Fprintf(results, "importing %s into %s\n", j.input.path, j.to.name)
	if done := j.decided(); done > 0 {
		fmt.Fprintf(results, "%d of %d rows were done before, according to %s.journal\n", done, j.input.rows, j.base)
	}
	defer j.summarize(s, results)
	wire, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
	shown, end := context.WithCancel(wire)
	var group sync.WaitGroup
	group.Go(func() { showProgress(shown, j, stderr) })
	err := j.addPets(wire)
	err = errors.Join(err, j.report(wire))
	end()
	group.Wait()
	return errors.Join(err, j.journal.db.Close())
}

// addPets adds the pets of the rows that are left. The end of wire cuts off the requests on their
// way.
func (j *job) addPets(wire context.Context) error {
	for j.left() > 0 && j.stopping.Err() == nil { // again, for rows that were not sent after all
		for r := range j.input.all() {
			if state := j.journal.row(r.line).Event; state != waiting && state != unsent {
				continue
			}
			if j.makeRoom(); j.stopping.Err() != nil {
				break
			}
			j.add(wire, r)
		}
		for j.flying.Load() > 0 {
			j.settle(<-j.done)
		}
	}
	if j.left() == 0 {
		return nil
	}
	return context.Cause(j.stopping)
}

// makeRoom returns when the pace allows one more create, or the import is stopped.
func (j *job) makeRoom() {
	for j.stopping.Err() == nil {
		switch flying := j.flying.Load(); {
		case flying > 0 && flying >= int32(j.pace):
			j.settle(<-j.done)
		case j.pace == paused:
			j.pause()
		default:
			return
		}
	}
}

func (j *job) add(wire context.Context, r row) {
	if r.err != nil {
		_ = j.journal.write(r.line, entry{Event: rejected, Reason: reason(r.err)})
		return
	}
	j.flying.Add(1)
	go func() {
		result, err := j.client.CreatePet(context.WithValue(wire, lineKey{}, r.line), r.pet)
		j.done <- outcome{r, result, err}
	}()
}

// settle writes the outcome of a create into the journal.
func (j *job) settle(o outcome) {
	j.flying.Add(-1)
	if o.err == nil {
		o.err = j.doubt(o)
	}
	e, sent := entry{}, j.journal.row(o.row.line).Event == sending
	switch {
	case o.err == nil:
		e.Event, e.ID = created, o.result.Pet.ID
		j.confirmed()
	case outcomeUnknown(o.err):
		e.Event, e.Reason = unknown, reason(o.err)
		j.hindered(o.err, true)
	case refusesRow(o.err):
		e.Event, e.Reason = rejected, reason(o.err)
		if sent {
			j.confirmed()
		}
	default:
		if j.hindered(o.err, false); !transient(o.err) {
			j.stop(o.err)
		}
		if e.Event = unsent; !sent { // sent it was if the service has refused it with a 401
			return
		}
	}
	_ = j.journal.write(o.row.line, e) // which stops the import if it fails
}

var errDoubtful = errors.New("the service has confirmed another pet")

// doubt returns why a success belongs to another row: a proxy, for instance, may repeat a response.
func (j *job) doubt(o outcome) error {
	got, want := o.result.Pet, o.row.pet
	if j.journal.added(got.ID) {
		return fmt.Errorf("%w: another row has added pet %d", errDoubtful, got.ID)
	} else if got.Name != want.Name || got.CategoryID != want.CategoryID ||
		want.Status != "" && got.Status != want.Status {
		return fmt.Errorf("%w: pet %d differs from this row", errDoubtful, got.ID)
	}
	return nil
}

// outcomeUnknown reports whether the pet may have been added although err is not nil.
func outcomeUnknown(err error) bool {
	return errors.Is(err, petstore.ErrOutcomeUnknown) || errors.Is(err, errDoubtful) || statusOf(err)/100 == 3
}

// refusesRow reports whether err is about the row, and not about the key, the service or the
// connection.
func refusesRow(err error) bool {
	switch statusOf(err) {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true // the last two are not in the document, but gateways use them
	}
	_, ok := errors.AsType[*petstore.ArgumentError](err)
	return ok
}

// statusOf returns the status of the response that err is about, 0 if there was none.
func statusOf(err error) int {
	if e, ok := errors.AsType[*petstore.APIError](err); ok {
		return e.StatusCode
	}
	return 0
}

// reason returns the text of err for a line of a file.
func reason(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	return strings.ToValidUTF8(text[:min(len(text), 300)], "")
}

// decided returns the number of rows that have an outcome, for now or for ever.
func (j *job) decided() int { return j.journal.rows(created, rejected, unknown) }

// left returns the number of rows that are still to be sent.
func (j *job) left() int { return j.journal.rows(waiting, unsent) }

func (j *job) summarize(s *summary, w io.Writer) {
	n := j.journal.rows
	*s = summary{
		Service: j.to.name, Rows: j.input.rows, Created: n(created),
		Undecided: n(unknown, sending), Rejected: n(rejected), Left: j.left(),
	}
	fmt.Fprintf(w, "%d rows: %d created, %d undecided, %d rejected, %d left\n",
		s.Rows, s.Created, s.Undecided, s.Rejected, s.Left)
	if s.Undecided > 0 {
		fmt.Fprintf(w, "undecided, for a person to look at: %s%s\n", j.base, undecidedReport)
	}
	if s.Rejected > 0 {
		fmt.Fprintf(w, "rejected, with reasons: %s%s\n", j.base, rejectedReport)
	}
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

// job is the import of one file: it adds the pets of the rows, each at most once, ever. One
// goroutine decides, and each create has a goroutine of its own.
type job struct {
	input    *input
	journal  *journal
	client   *petstore.Client // sends through the job's gate
	out      io.Writer
	stopping context.Context // ends when no more rows are to be sent; its cause is the reason
	stop     context.CancelCauseFunc
	done     chan func() entry // what a create has come to

	flying, shown int  // creates in flight; rows that were decided when that was last shown
	reached       bool // a pet was added in this run
	failures      int  // creates that were not confirmed, since one sent after such was
}

const (
	steady   = 8               // creates in flight: enough for every plan, and few to be undecided after a SIGKILL
	outage   = 3               // failures in a row that stop the import: each may be one more undecided row
	patience = 5 * time.Minute // the longest wait for the rate limit that an earlier run has met
)

// newJob opens the journal. An error means that nothing was begun.
func newJob(ctx context.Context, in *input, to service, now bool, out io.Writer) (*job, error) {
	j := &job{input: in, out: out, done: make(chan func() entry)}
	j.stopping, j.stop = context.WithCancelCause(ctx)
	var err error
	j.client, err = to.connect(petstore.WithStop(j.stopping),
		petstore.WithTrace(&petstore.ClientTrace{WaitStart: j.limited}),
		petstore.WithTransport(func(next http.RoundTripper) http.RoundTripper { return gate{next, j} }))
	if err == nil {
		j.journal, err = openJournal(in.file+".journal", in.sum+" into "+to.name)
	}
	if err != nil {
		return nil, err
	}
	if j.journal.failed = j.stop; now {
		j.journal.until = time.Time{}
	}
	return j, nil
}

// gate is the transport of a job: a request gets its permit, the journal its entry, and only then the
// request leaves. A row that waits for the rate limit has not been sent, however the program ends.
type gate struct {
	http.RoundTripper
	*job
}

// lineKey is the context's key for the line of the row that a request adds.
type lineKey struct{}

// Unwrap lets the client see whether a request got a connection.
func (g gate) Unwrap() http.RoundTripper { return g.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (g gate) RoundTrip(r *http.Request) (*http.Response, error) {
	line, _ := r.Context().Value(lineKey{}).(int)
	if err := g.journal.write(entry{Line: line, Event: sending}); err != nil {
		return nil, err
	}
	resp, err := g.RoundTripper.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests { // the client may now wait for minutes
		_ = g.journal.write(entry{Line: line, Event: unsent})
	}
	return resp, err
}

// limited notes until when the rate limit is used up: if each start of the program risked a 429, the
// service could ban the key.
func (j *job) limited(_ context.Context, c petstore.Call, w ratelimit.Wait) {
	if w.Reason != ratelimit.ReasonBackoff && j.journal.close(w.Until) {
		fmt.Fprintf(j.out, "the rate limit is used up until %s\n", w.Until.Local().Format(time.TimeOnly))
	}
}

// run imports the rows that are left and writes the reports. It returns why rows are left.
func (j *job) run(ctx context.Context) error {
	j.shown = j.decided()
	fmt.Fprintf(j.out, "importing %s; %d of %d rows were done before\n", j.input.file, j.shown, len(j.input.rows))
	defer context.AfterFunc(ctx, func() {
		fmt.Fprintln(j.out, "stopping after the requests in flight; a second interrupt does not wait for them")
	})()
	err := j.addPets(context.WithoutCancel(ctx))
	n := j.journal.number
	fmt.Fprintf(j.out, "%d rows: %d created, %d undecided, %d rejected, %d left\n",
		len(j.input.rows), n(created), n(unknown), n(rejected), j.left())
	return errors.Join(err, j.input.report(j.journal), j.journal.file.Close())
}

// addPets adds the pets of the rows that are left.
func (j *job) addPets(ctx context.Context) error {
	j.waitForLimit()
	for j.left() > 0 && j.stopping.Err() == nil { // again, for rows that were not sent after all
		for _, r := range j.input.rows {
			if j.journal.row(r.line).decided() {
				continue
			}
			if j.makeRoom(); j.stopping.Err() != nil {
				break
			}
			j.add(ctx, r)
		}
		j.settle(0)
	}
	if j.left() > 0 {
		return context.Cause(j.stopping)
	}
	return nil
}

// makeRoom returns when one more create may be sent: one at a time until the first pet was added,
// and after a failure.
func (j *job) makeRoom() {
	if j.settle(steady - 1); !j.reached || j.failures > 0 {
		j.settle(0)
	}
}

// waitForLimit waits for the rate limit that an earlier run has met, or stops the import if that is
// long.
func (j *job) waitForLimit() {
	until := j.journal.until
	switch left := time.Until(until); {
	case left > patience:
		j.stop(&petstore.RateLimitError{Operation: petstore.OpCreatePet, RetryAt: until})
	case left > 0:
		fmt.Fprintf(j.out, "goes on at %s\n", until.Local().Format(time.TimeOnly))
		select {
		case <-j.stopping.Done():
		case <-time.After(left):
		}
	}
}

func (j *job) add(ctx context.Context, r row) {
	if r.err != nil {
		_ = j.journal.write(entry{Line: r.line, Event: rejected, Reason: r.err.Error()})
		return
	}
	j.flying++
	before := j.failures
	go func() {
		result, err := j.client.CreatePet(context.WithValue(ctx, lineKey{}, r.line), r.pet)
		j.done <- func() entry { return j.judge(r, before, result, err) }
	}()
}

// settle writes the outcomes of creates into the journal, until no more than some are in flight.
func (j *job) settle(most int) {
	for ; j.flying > most; j.flying-- {
		if e := (<-j.done)(); e.Event != "" {
			_ = j.journal.write(e) // which stops the import if it fails
		}
		if now, all := j.decided(), len(j.input.rows); now*10/all != j.shown*10/all {
			j.shown = now
			fmt.Fprintf(j.out, "%d of %d rows\n", now, all)
		}
	}
}

// judge returns what a create has come to; no event if it has sent nothing. A success that was sent
// before the last failure does not show that an outage is over: before is the failures at that time.
func (j *job) judge(r row, before int, result *petstore.CreatePetResult, err error) entry {
	if err == nil && j.isOf(r, result.Pet) {
		if j.reached = true; j.failures == before {
			j.failures = 0
		}
		return entry{Line: r.line, Event: created, ID: result.Pet.ID}
	} else if errors.Is(err, petstore.ErrBadRequest) || errors.Is(err, petstore.ErrInvalidArgument) {
		return entry{Line: r.line, Event: rejected, Reason: err.Error()}
	}
	e := entry{Line: r.line}
	switch {
	case err == nil:
		err = fmt.Errorf("the service has confirmed another pet: %d", result.Pet.ID)
		fallthrough
	case errors.Is(err, petstore.ErrOutcomeUnknown):
		e.Event, e.Reason = unknown, err.Error()
	case j.journal.row(r.line).Event == sending:
		e.Event = unsent
	}
	if limited, ok := errors.AsType[*petstore.RateLimitError](err); ok {
		j.journal.close(limited.RetryAt)
	}
	j.failures++
	passes := j.reached && errors.Is(err, petstore.ErrNotSent) && !errors.Is(err, petstore.ErrRateLimited)
	if j.failures >= outage || e.Event != unknown && !passes { // or it is about the key, the plan or the address
		j.stop(err)
	}
	return e
}

// isOf reports whether a pet is that of a row: a proxy, for instance, may repeat a response.
func (j *job) isOf(r row, got petstore.Pet) bool {
	want := petstore.Pet{ID: got.ID, Name: r.pet.Name, CategoryID: r.pet.CategoryID, Status: cmp.Or(r.pet.Status, got.Status)}
	return got == want && !j.journal.added(got.ID)
}

func (j *job) decided() int { return j.journal.number(created, rejected, unknown) }

// left returns the number of rows that are still to be sent.
func (j *job) left() int { return len(j.input.rows) - j.decided() }

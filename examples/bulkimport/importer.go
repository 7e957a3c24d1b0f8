package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/petstore/petstore-go"
)

// importer adds the pets of rows, each at most once, ever. One goroutine decides; creates have
// goroutines of their own.
type importer struct {
	journal  *journal
	client   *petstore.Client // sends through a gate
	next     func() (row, error, bool)
	stopping context.Context // ends when no more rows are to be sent; its cause says why
	stop     context.CancelCauseFunc
	health
	again  []row // that were not sent after all
	done   chan outcome
	flying atomic.Int32 // creates whose outcome is to come
}

// outcome is what became of a create.
type outcome struct {
	row    row
	result *petstore.CreatePetResult
	err    error
}

// run adds what by the journal is left to be added. The end of wire cuts off what is on its way. run
// returns why rows are left.
func (im *importer) run(wire context.Context) error {
	im.done, im.pace = make(chan outcome, steady), careful
	if before := im.journal.down; before.Tries > 0 {
		im.pace, im.since, im.tries, im.tried = paused, time.Now(), before.Tries, before.Time
		im.trouble = errors.New("the outcome of the last creates is not known")
	}
	for im.stopping.Err() == nil && im.left() > 0 {
		switch {
		case im.flying.Load() > 0 && im.flying.Load() >= int32(im.pace):
			im.settle(<-im.done)
		case im.pace == paused:
			im.pause()
		default:
			im.send(wire)
		}
	}
	for im.flying.Load() > 0 {
		im.settle(<-im.done)
	}
	if im.left() == 0 {
		return nil
	}
	return context.Cause(im.stopping)
}

// left returns how many rows are still to be sent.
func (im *importer) left() int { return im.journal.rows(waiting, unsent) }

// record writes an entry; when that fails, the import ends.
func (im *importer) record(e entry) {
	if err := im.journal.write(e); err != nil {
		im.stop(err)
	}
}

// send has the next row sent, if there is one that was not.
func (im *importer) send(wire context.Context) {
	var r row
	var err error
	ok := len(im.again) > 0
	if ok {
		r, im.again = im.again[0], im.again[1:]
	} else {
		r, err, ok = im.next()
	}
	switch state := im.journal.row(r.line); {
	case err != nil:
		im.stop(err)
	case !ok: // the rows that are left are on their way
		im.settle(<-im.done)
	case state != waiting && state != unsent:
	case r.err != nil:
		im.record(entry{Line: r.line, Event: rejected, Reason: reason(r.err)})
	default:
		im.flying.Add(1)
		go func() {
			result, err := im.client.CreatePet(context.WithValue(wire, lineKey{}, r.line), r.pet)
			im.done <- outcome{r, result, err}
		}()
	}
}

// settle writes into the journal what became of a create.
func (im *importer) settle(o outcome) {
	im.flying.Add(-1)
	if o.err == nil {
		o.err = im.doubt(o)
	}
	e, sent := entry{Line: o.row.line}, im.journal.row(o.row.line) == sending
	switch {
	case o.err == nil:
		e.Event, e.ID = created, o.result.Pet.ID
		im.confirmed()
	case outcomeUnknown(o.err):
		e.Event, e.Reason = unknown, reason(o.err)
		im.hinder(o.err, true)
	case refusesRow(o.err):
		e.Event, e.Reason = rejected, reason(o.err)
		if sent {
			im.confirmed()
		}
	default:
		im.again = append(im.again, o.row)
		if im.hinder(o.err, false); !transient(o.err) {
			im.stop(o.err)
		}
		if e.Event = unsent; !sent { // as it is if the service has refused it with a 401
			return
		}
	}
	im.record(e)
}

var errDoubtful = errors.New("the service has confirmed another pet")

// doubt returns why a success is none of this row: something in between may repeat a response.
func (im *importer) doubt(o outcome) error {
	got, want := o.result.Pet, o.row.pet
	if im.journal.added(got.ID) {
		return fmt.Errorf("%w: another row has added pet %d", errDoubtful, got.ID)
	} else if got.Name != want.Name || got.CategoryID != want.CategoryID ||
		want.Status != "" && got.Status != want.Status {
		return fmt.Errorf("%w: pet %d is not as this row says", errDoubtful, got.ID)
	}
	return nil
}

// outcomeUnknown reports whether the pet may have been added although err says otherwise.
func outcomeUnknown(err error) bool {
	return errors.Is(err, petstore.ErrOutcomeUnknown) || errors.Is(err, errDoubtful) || statusOf(err)/100 == 3
}

// refusesRow reports whether it is the row that err is about, and not the key, the service or the
// way there.
func refusesRow(err error) bool {
	switch statusOf(err) {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true // the last two are not documented, but gateways say so
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

// reason is the text of err for a line of a file.
func reason(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	return strings.ToValidUTF8(text[:min(len(text), 300)], "")
}

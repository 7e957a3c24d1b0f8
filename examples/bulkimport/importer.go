package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/petstore/petstore-go"
)

const (
	// workers is how many creates are on their way at a time. The limit of the key sets the pace: more would
	// only leave more undecided when the program is killed.
	workers = 8
	// tooManyUndecided creates in a row end the import: each is work for a person, and a service that is down
	// would make one of every row.
	tooManyUndecided = 10
)

// importer adds the pets of rows, each at most once, ever.
type importer struct {
	rows    []row
	journal *journal
	client  *petstore.Client // sends through a gate of this importer
	waits   stopwatch

	next   atomic.Int64 // index of the next row
	streak atomic.Int64 // creates of unknown outcome since the last that was known

	stopping context.Context // ends when no more rows are to be sent; its cause says why
	stop     context.CancelCauseFunc
}

// run adds what the journal does not tell to be done. When ctx ends, or a failure makes it pointless to go on,
// no more requests leave, and run returns the cause once those on their way have come to their end.
func (im *importer) run(ctx context.Context) error {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() { im.work(context.WithoutCancel(ctx)) })
	}
	group.Wait()
	if ctx.Err() == nil || im.left() > 0 { // else nothing was left to be stopped
		return context.Cause(im.stopping)
	}
	return nil
}

// decided returns how many rows have come to their end, for now or for ever.
func (im *importer) decided() int { return im.journal.rows(created, rejected, unknown) }

// left returns how many rows are still to be sent.
func (im *importer) left() int {
	return len(im.rows) - im.journal.rows(sending, created, rejected, unknown)
}

func (im *importer) work(ctx context.Context) {
	for im.stopping.Err() == nil {
		n := int(im.next.Add(1)) - 1
		if n >= len(im.rows) {
			return
		}
		r := im.rows[n]
		if im.journal.row(r.line).done() {
			continue
		}
		if err := im.add(ctx, r); err != nil {
			im.stop(err)
		}
	}
}

// add sends a row and writes into the journal what became of it. An error is none of the row's: it ends the
// import.
func (im *importer) add(ctx context.Context, r row) error {
	if r.err != nil {
		return im.journal.write(entry{Line: r.line, Event: rejected, Reason: reason(r.err)})
	}
	result, err := im.client.CreatePet(context.WithValue(ctx, lineKey{}, r.line), r.pet)
	switch {
	case err == nil:
		im.streak.Store(0)
		return im.journal.write(entry{Line: r.line, Event: created, ID: result.Pet.ID})
	case errors.Is(err, petstore.ErrOutcomeUnknown):
		return errors.Join(im.journal.write(entry{Line: r.line, Event: unknown, Reason: reason(err)}), im.lost(err))
	case refusesRow(err):
		return im.journal.write(entry{Line: r.line, Event: rejected, Reason: reason(err)})
	}
	if im.journal.row(r.line).Event == sending { // and refused, as a 401 refuses it
		return errors.Join(err, im.journal.write(entry{Line: r.line, Event: unsent}))
	}
	return err
}

// lost counts creates of unknown outcome.
func (im *importer) lost(err error) error {
	if im.streak.Add(1) < tooManyUndecided {
		return nil
	}
	return fmt.Errorf("%d creates in a row came to an unknown outcome, the last: %w", tooManyUndecided, err)
}

// refusesRow reports whether it is the row that err is about, and not the key, the service or the way there.
func refusesRow(err error) bool {
	if _, ok := errors.AsType[*petstore.ArgumentError](err); ok {
		return true
	}
	answer, ok := errors.AsType[*petstore.APIError](err)
	if !ok {
		return false
	}
	switch answer.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true // the last two are not documented, but gateways say so
	}
	return false
}

const maxReason = 300 // bytes

// reason is the text of err for a line of a file.
func reason(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > maxReason {
		text = text[:maxReason] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}

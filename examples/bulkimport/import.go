package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

// job is the import of one file: it adds the pet of each row at most once, ever. It sends one
// create at a time, so that a SIGKILL leaves one row undecided.
type job struct {
	out     io.Writer
	pets    []petstore.NewPet // of the rows 1, 2, …; two equal rows are two pets
	journal *journal
	client  *petstore.Client
	next    http.RoundTripper
	row     int  // that is being added
	works   bool // whether the last create has added its pet
}

// begin reads the file and opens its journal.
func (j *job) begin(stop context.Context, path string, connect connector) error {
	path, err := filepath.EvalSymlinks(path) // a file with two names has one journal
	if err = cmp.Or(err, checkRegular(path)); err != nil {
		return err
	}
	text, err := os.ReadFile(path) // at once: a change of the file during the import does no harm
	if err == nil {
		j.pets, err = decode(text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	j.client, err = connect(petstore.WithStop(stop), petstore.WithTransport(func(next http.RoundTripper) http.RoundTripper {
		j.next = next
		return j
	}), petstore.WithTrace(&petstore.ClientTrace{WaitStart: func(_ context.Context, _ petstore.Call, w ratelimit.Wait) {
		_ = j.journal.set(0, waiting, w.Until.Unix()+1)
	}}))
	if err == nil {
		j.journal, err = openJournal(path+".journal", fmt.Sprintf("%x", sha256.Sum256(append(text, j.client.String()...))))
	}
	return err
}

const header = "name,categoryId,status"

// decode returns the pets of a file. Mistakes in the file must show before the first create.
func decode(text []byte) (pets []petstore.NewPet, err error) {
	rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))).ReadAll() // of spreadsheets
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || strings.Join(rows[0], ",") != header {
		return nil, errors.New("it does not begin with " + header)
	}
	for i, cells := range rows[1:] {
		category, err := strconv.ParseInt(cells[1], 10, 64)
		if err != nil || strings.Contains(cells[0]+cells[2], "\n") { // a cell with rows in it: a quote is missing
			return nil, fmt.Errorf("row %d is no pet: %.200q", i+1, cells)
		}
		pets = append(pets, petstore.NewPet{Name: cells[0], CategoryID: category, Status: petstore.PetStatus(cells[2])})
	}
	return pets, nil
}

// Unwrap lets the client see whether a request got a connection.
func (j *job) Unwrap() http.RoundTripper { return j.next }

// RoundTrip is the client's transport. A request gets its permit first, then the journal gets a
// record, and only then does the request leave. So a SIGKILL during a wait for the rate limit
// leaves no row undecided.
func (j *job) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := j.journal.set(j.row, sending, 0); err != nil {
		return nil, err
	}
	resp, err := j.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests { // the client may now wait for minutes
		_ = j.journal.set(j.row, unsent, 0)
	}
	return resp, err
}

// addPets adds the pets of the rows that are left. An error says why it did not add all.
func (j *job) addPets(stop context.Context) error {
	if wait := time.Until(j.journal.until); wait > 0 { // if each start risked a 429, the service could ban the key
		fmt.Fprintf(j.out, "waits %s for the rate limit\n", wait.Round(time.Second))
		select {
		case <-time.After(wait):
		case <-stop.Done():
		}
	}
	for i, pet := range j.pets {
		j.row = i + 1
		if state := j.journal.rows[j.row]; state == "" || state == unsent {
			if err := j.add(context.WithoutCancel(stop), pet); err != nil {
				return err
			}
		}
		if j.row*10/len(j.pets) > i*10/len(j.pets) {
			fmt.Fprintf(j.out, "%d of %d rows\n", j.row, len(j.pets))
		}
	}
	return nil
}

// add adds a pet, and records the outcome. After an error, no more rows may be sent.
func (j *job) add(ctx context.Context, pet petstore.NewPet) error {
	result, err := j.client.CreatePet(ctx, pet)
	if wait, known := petstore.RetryAfter(err); known { // longer than the client waits
		_ = j.journal.set(0, waiting, time.Now().Add(wait).Unix()+1)
	}
	state, id, stops := unsent, int64(0), true // for an error about the key, the plan or the network
	switch {
	case err == nil && j.isOf(pet, result.Pet):
		state, id, j.works = created, result.Pet.ID, true
	case err == nil, errors.Is(err, petstore.ErrOutcomeUnknown):
		err = cmp.Or(err, errors.New("the service has confirmed another pet"))
		state, stops, j.works = undecided, !j.works, false // the next row shows whether the service works
	case errors.Is(err, petstore.ErrBadRequest), errors.Is(err, petstore.ErrInvalidArgument):
		state, stops = rejected, false
	}
	if err != nil && !stops {
		fmt.Fprintf(j.out, "row %d: %v\n", j.row, err)
		err = nil
	}
	return cmp.Or(j.journal.set(j.row, state, id), err)
}

// isOf reports whether a pet is the new one: a proxy, for instance, may send the response to
// another request.
func (j *job) isOf(pet petstore.NewPet, got petstore.Pet) bool {
	want := petstore.Pet{ID: got.ID, Name: pet.Name, CategoryID: pet.CategoryID, Status: cmp.Or(pet.Status, got.Status)}
	return got == want && !j.journal.ids[got.ID]
}

// report prints the rows that a person has to look at, and returns the exit status.
func (j *job) report() int {
	number := map[string]int{}
	for i, pet := range j.pets {
		state := j.journal.rows[i+1]
		if number[state]++; state == rejected || state == undecided {
			fmt.Fprintf(j.out, "row %d is %s: %.100q\n", i+1, state, pet.Name)
		}
	}
	left := number[""] + number[unsent] + number[sending]
	fmt.Fprintf(j.out, "%d created, %d rejected, %d undecided, %d left\n",
		number[created], number[rejected], number[undecided], left)
	if left > 0 {
		return exitLeft
	} else if number[created] < len(j.pets) {
		return exitDone
	}
	return exitCreated
}

package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/petstore/petstore-go"
)

const (
	rejectedReport  = ".rejected.csv"
	undecidedReport = ".undecided.csv"
)

// report writes the rows that will not be imported, with the reason why, and those that a person has
// to decide on, with what listPets shows of them.
func (j *job) report(ctx context.Context) error {
	bad := newTable(j.base+rejectedReport, rejectedColumns...)
	open := newTable(j.base+undecidedReport, "line", "name", "categoryId", "status", "time", "reason", "listPets")
	var undecided []row
	for r, err := range j.input.all(io.Discard) {
		bad.err = errors.Join(bad.err, err)
		switch j.journal.row(r.line) {
		case rejected:
			bad.add(append(r.columns(), strconv.Itoa(r.line), j.journal.last(r.line).Reason)...)
		case sending, unknown:
			undecided = append(undecided, r)
		}
	}
	lists := map[petstore.PetStatus]*petstore.ListPetsResult{}
	var err error
	for _, r := range undecided {
		if lists[r.pet.Status] == nil && err == nil {
			params := petstore.ListPetsParams{Limit: petstore.MaxLimit, Status: r.pet.Status}
			lists[r.pet.Status], err = j.client.ListPets(ctx, params)
		}
		e := j.journal.last(r.line)
		cells := append([]string{strconv.Itoa(r.line)}, r.columns()...)
		open.add(append(cells, e.Time.Format(time.RFC3339), e.Reason, j.shown(r.pet, lists[r.pet.Status], err))...)
	}
	return errors.Join(bad.close(), open.close())
}

// shown returns whether the pet of an undecided row is there, as far as listPets shows it: at most 100
// pets of a status, in no known order.
func (j *job) shown(pet petstore.NewPet, list *petstore.ListPetsResult, err error) string {
	if list == nil {
		return "listPets could not be asked: " + reason(err)
	}
	var ids []string
	for _, p := range list.Pets {
		if p.Name == pet.Name && p.CategoryID == pet.CategoryID && !j.journal.added(p.ID) {
			ids = append(ids, strconv.FormatInt(p.ID, 10))
		}
	}
	if len(ids) > 0 {
		return "seen: id " + strings.Join(ids, ", ")
	} else if len(list.Pets) < petstore.MaxLimit {
		return fmt.Sprintf("not seen: it is not among the %d pets that listPets shows", len(list.Pets))
	}
	return fmt.Sprintf("cannot tell: listPets shows %d pets and there may be more", len(list.Pets))
}

// table is a report. It replaces the file at path as a whole: whoever reads that sees the old one or
// the new one.
type table struct {
	path  string
	draft *os.File // of a name that the next run overwrites, should this one be killed
	csv   *csv.Writer
	rows  int
	err   error
}

func newTable(path string, header ...string) *table {
	t := &table{path: path, rows: -1}
	t.draft, t.err = os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // by the user
	t.csv = csv.NewWriter(t.draft)
	t.add(header...)
	return t
}

// add adds a row, with the cells escaped that a spreadsheet would take for formulas.
func (t *table) add(cells ...string) {
	for i, cell := range cells {
		if _, err := strconv.Atoi(cell); err != nil && cell != "" && strings.Contains(escaped, cell[:1]) {
			cells[i] = "'" + cell
		}
	}
	t.rows++
	_ = t.csv.Write(cells) // Error has the first error
}

// close ends the report. Without a row there is none: not even that of an earlier run.
func (t *table) close() error {
	t.csv.Flush()
	err := errors.Join(t.err, t.csv.Error(), t.draft.Close())
	if err == nil && t.rows > 0 {
		return os.Rename(t.path+".tmp", t.path)
	} else if err == nil {
		err = os.Remove(t.path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.Remove(t.path+".tmp"))
}

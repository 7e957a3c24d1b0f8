package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
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

// report writes the rows that will not be imported, with the reason, and those that a person has to
// decide on, with what listPets shows about them.
func (j *job) report(ctx context.Context) error {
	bad := [][]string{rejectedColumns}
	open := [][]string{{"line", "name", "categoryId", "status", "time", "reason", "listPets"}}
	lists := map[petstore.PetStatus]*petstore.ListPetsResult{}
	var err error
	for r := range j.input.all() {
		line, e := strconv.Itoa(r.line), j.journal.row(r.line)
		switch e.Event {
		case rejected:
			bad = append(bad, append(r.cells, line, e.Reason))
		case sending, unknown:
			if lists[r.pet.Status] == nil && err == nil {
				params := petstore.ListPetsParams{Limit: petstore.MaxListLimit, Status: r.pet.Status}
				lists[r.pet.Status], err = j.client.ListPets(ctx, params)
			}
			open = append(open, []string{
				line, r.cells[0], r.cells[1], r.cells[2], e.Time.Format(time.RFC3339), e.Reason,
				j.shown(r.pet, lists[r.pet.Status], err),
			})
		}
	}
	return errors.Join(writeReport(j.base+rejectedReport, bad), writeReport(j.base+undecidedReport, open))
}

// shown returns whether listPets shows the pet of an undecided row. It shows at most 100 pets of a
// status, in no known order.
func (j *job) shown(pet petstore.NewPet, list *petstore.ListPetsResult, err error) string {
	if list == nil {
		return "listPets failed: " + reason(err)
	}
	var ids []string
	for _, p := range list.Pets {
		if p.Name == pet.Name && p.CategoryID == pet.CategoryID && !j.journal.added(p.ID) {
			ids = append(ids, strconv.FormatInt(p.ID, 10))
		}
	}
	if len(ids) > 0 {
		return "seen: id " + strings.Join(ids, ", ")
	} else if len(list.Pets) < petstore.MaxListLimit {
		return fmt.Sprintf("not seen: it is not among the %d pets that listPets shows", len(list.Pets))
	}
	return fmt.Sprintf("cannot tell: listPets shows %d pets and there may be more", len(list.Pets))
}

// writeReport replaces the file at path as a whole: a reader sees the old one or the new one.
// Without a row below its header there is none, not even that of an earlier run.
func writeReport(path string, rows [][]string) error {
	if len(rows) == 1 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	for _, cells := range rows {
		for i, cell := range cells {
			if _, err := strconv.Atoi(cell); err != nil && cell != "" && strings.Contains(escaped, cell[:1]) {
				cells[i] = "'" + cell
			}
		}
	}
	var text bytes.Buffer
	err := csv.NewWriter(&text).WriteAll(rows)
	draft := path + ".tmp" // a name that the next run overwrites, should this one be killed
	if err == nil {
		err = os.WriteFile(draft, text.Bytes(), 0o600)
	}
	if err == nil {
		err = os.Rename(draft, path)
	}
	return err
}

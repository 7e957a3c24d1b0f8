package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/petstore/petstore-go"
)

// input is a file of rows that is read more than once, piece by piece, and has to stay as it is.
type input struct {
	path  string
	info  os.FileInfo // as it was first found
	sum   hash.Hash   // of the content, once checked
	rows  int
	marks []mark // by line, from 1: waiting where a row begins
}

// check reads the whole input, and calls judge for each row: what is wrong with the file has to show
// before the first create.
func (in *input) check(judge func(row)) error {
	in.sum, in.marks = sha256.New(), make([]mark, 1)
	for r, err := range in.all(in.sum) {
		if err != nil {
			return fmt.Errorf("%s: %w", in.path, err)
		}
		in.marks = append(in.marks, make([]mark, r.line+1-len(in.marks))...)
		in.marks[r.line] = newMark(waiting, 0)
		in.rows++
		judge(r)
	}
	return nil
}

// isSample reports whether the input is the example's own.
func (in *input) isSample() bool {
	sum := sha256.Sum256(sample)
	return bytes.Equal(in.sum.Sum(nil), sum[:])
}

// all returns the rows. What it reads goes to w, too. An error is about the input, and comes last.
func (in *input) all(w io.Writer) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		f, err := os.Open(in.path)
		if err == nil {
			defer f.Close()
			text := io.TeeReader(&unchanged{f, in}, w)
			err = decode(in.path, text, func(r row) bool { return yield(r, nil) })
		}
		if err != nil {
			yield(row{}, err)
		}
	}
}

// unchanged reads a file as long as that is what it was.
type unchanged struct {
	*os.File
	input *input
}

// Read implements [io.Reader].
func (u *unchanged) Read(p []byte) (int, error) {
	n, err := u.File.Read(p)
	is, statErr := u.Stat()
	if u.input.info == nil && statErr == nil {
		u.input.info = is
	}
	was := u.input.info
	switch {
	case statErr != nil:
		return 0, statErr
	case !is.Mode().IsRegular():
		return 0, errors.New("it is not a regular file, which can be read twice")
	case is.Size() != was.Size() || !is.ModTime().Equal(was.ModTime()):
		return 0, errors.New("the input was changed during the import")
	}
	return n, err
}

// row is one row of the input. Two rows that are alike are two pets.
type row struct {
	line int             // where it begins, from 1; this is what the journal knows the row by
	pet  petstore.NewPet // what it says
	err  error           // or why it is no pet
	// cells are then name, categoryId and status or, if it has none, the first KiB of the row.
	cells []string
}

// columns returns name, categoryId and status for a report.
func (r *row) columns() []string {
	if r.err == nil {
		return []string{r.pet.Name, strconv.FormatInt(r.pet.CategoryID, 10), string(r.pet.Status)}
	}
	return r.cells
}

const (
	maxRow  = 1 << 20 // bytes; most services refuse a request that is longer
	maxText = 1 << 10

	byteOrderMark = "\xef\xbb\xbf" // which spreadsheets put ahead of UTF-8
)

// rejectedColumns are those of the report of rejected rows, which is an input too, once mended.
var rejectedColumns = []string{"name", "categoryId", "status", "line", "reason"}

// headers has the number of columns of each header that CSV may have.
var headers = map[string]int{
	"name,categoryId": 2, "name,categoryId,status": 3, strings.Join(rejectedColumns, ","): 5,
}

// decode calls yield for the rows of an input, whose format its name tells, until that returns
// false. A row that is no pet has an error of its own; the error returned is about the whole input.
func decode(name string, input io.Reader, yield func(row) bool) error {
	format, number, columns := strings.ToLower(filepath.Ext(name)), 0, 0
	if format != ".csv" && format != ".jsonl" && format != ".ndjson" {
		return errors.New("the file is named neither .csv nor .jsonl nor .ndjson")
	}
	lines := bufio.NewScanner(input)
	lines.Buffer(nil, 16*maxRow)
	for lines.Scan() {
		if number++; number == 1 && format == ".csv" {
			header := strings.TrimPrefix(lines.Text(), byteOrderMark)
			if columns = headers[header]; columns == 0 {
				return fmt.Errorf("the first line is %.100q, not name,categoryId,status or name,categoryId", header)
			}
			continue
		}
		r, text := row{line: number}, lines.Bytes()
		if number == 1 {
			text = bytes.TrimPrefix(text, []byte(byteOrderMark))
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if format == ".csv" {
			text = wholeRow(lines, text, &number)
			if r.petOfCSV(text, columns); number > r.line && (r.err != nil || holdsRow(r.pet, columns)) {
				return fmt.Errorf("line %d: a quote is missing or too much: it runs on to line %d", r.line, number)
			}
		} else {
			r.petOfJSON(text)
		}
		if len(text) > maxRow {
			r.err, r.cells = errors.New("the row is longer than 1 MiB"), nil
		}
		if r.err != nil && r.cells == nil {
			r.pet, r.cells = petstore.NewPet{}, []string{string(text[:min(len(text), maxText)]), "", ""}
		}
		if !yield(r) {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", number+1, err)
	} else if number == 0 && format == ".csv" {
		return errors.New("the file is empty")
	}
	return nil
}

// wholeRow returns the row of CSV that begins with a line: while a quote is open, it goes on.
func wholeRow(lines *bufio.Scanner, text []byte, number *int) []byte {
	quotes := bytes.Count(text, []byte{'"'})
	for text = slices.Clone(text); quotes%2 == 1 && len(text) <= 16*maxRow && lines.Scan(); *number++ {
		quotes += bytes.Count(lines.Bytes(), []byte{'"'})
		text = append(append(text, '\n'), lines.Bytes()...)
	}
	return text
}

// holdsRow reports whether a line of a field looks like a row by itself. Pets with such names can be
// imported from JSON Lines.
func holdsRow(pet petstore.NewPet, columns int) bool {
	for line := range strings.Lines(pet.Name + "\n" + string(pet.Status)) {
		if strings.Count(line, ",") == columns-1 {
			return true
		}
	}
	return false
}

// escaped are the first characters of cells that reports protect from being taken for formulas.
const escaped = "=+-@\t\r'"

func (r *row) petOfCSV(text []byte, columns int) {
	fields := strings.Split(string(text), ",")
	if bytes.Contains(text, []byte{'"'}) {
		fields, r.err = csv.NewReader(bytes.NewReader(text)).Read()
	}
	if fault, ok := errors.AsType[*csv.ParseError](r.err); ok {
		r.err = fault.Err // without a line, as there is only one
	} else if len(fields) != columns {
		r.err = fmt.Errorf("the row has %d fields, not %d", len(fields), columns)
	}
	if r.err != nil {
		return
	}
	for i, f := range fields {
		if columns == len(rejectedColumns) && len(f) > 1 && f[0] == '\'' && strings.Contains(escaped, f[1:2]) {
			fields[i] = f[1:]
		}
	}
	fields = append(fields, "")[:3]
	r.pet = petstore.NewPet{Name: fields[0], Status: petstore.PetStatus(fields[2])}
	if r.pet.CategoryID, r.err = strconv.ParseInt(fields[1], 10, 64); r.err != nil {
		r.err = fmt.Errorf("categoryId %.100q is not a 64-bit integer", fields[1])
		r.pet, r.cells = petstore.NewPet{}, fields
	}
}

// petOfJSON is strict, as the decoder is about duplicate fields, the case of names and invalid
// UTF-8: what it let pass would be a pet that nobody meant.
func (r *row) petOfJSON(text []byte) {
	var fields struct {
		Name       *string            `json:"name"`
		CategoryID *int64             `json:"categoryId"`
		Status     petstore.PetStatus `json:"status"`
	}
	r.err = json.Unmarshal(text, &fields, json.RejectUnknownMembers(true))
	if r.err == nil && fields.Name == nil {
		r.err = errors.New("name is missing")
	} else if r.err == nil && fields.CategoryID == nil {
		r.err = errors.New("categoryId is missing")
	}
	if r.err == nil {
		r.pet = petstore.NewPet{Name: *fields.Name, CategoryID: *fields.CategoryID, Status: fields.Status}
	}
}

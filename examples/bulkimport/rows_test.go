package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func readRows(name, text string) (rows []row, err error) {
	err = (&input{path: name, text: []byte(text)}).decode(func(r row) bool {
		rows = append(rows, r)
		return true
	})
	return rows, err
}

// assertPets holds that an input has these pets, by line, and no other row.
func assertPets(t *testing.T, name, text string, want map[int]petstore.NewPet) {
	t.Helper()
	rows, err := readRows(name, text)
	require.NoError(t, err)
	got := map[int]petstore.NewPet{}
	for _, r := range rows {
		assert.NoErrorf(t, r.err, "line %d", r.line)
		got[r.line] = r.pet
	}
	assert.Equal(t, want, got)
}

// assertBadRow holds that a row, between two good ones, has an error and these cells.
func assertBadRow(t *testing.T, name, header, good, text, reason string, cells ...string) {
	t.Helper()
	rows, err := readRows(name, header+good+text+"\n"+good)
	require.NoErrorf(t, err, "%.60q", text)
	require.Lenf(t, rows, 3, "%.60q", text)
	assert.Equal(t, rows[0].pet, rows[2].pet)
	assert.Equal(t, rows[0].line+1, rows[1].line)
	assert.Equal(t, cells, rows[1].cells)
	assert.Zero(t, rows[1].pet)
	assert.ErrorContainsf(t, rows[1].err, reason, "%.80q", text)
}

const header = "name,categoryId,status\n"

func TestDecodeCSV(t *testing.T) {
	t.Parallel()
	t.Run("reads files of spreadsheets", func(t *testing.T) {
		t.Parallel()
		assertPets(t, "Pets.CSV", "\xef\xbb\xbfname,categoryId,status\r\n"+
			"Rex,1,available\r\n"+
			"\r\n"+
			"\"Lady, \"\"the\"\" Countess\",-2,\r\n"+
			"\"Anne\r\nMarie\",9223372036854775807,sold\r\n"+
			"小白,0,pending", map[int]petstore.NewPet{
			2: {Name: "Rex", CategoryID: 1, Status: "available"},
			4: {Name: `Lady, "the" Countess`, CategoryID: -2},
			5: {Name: "Anne\nMarie", CategoryID: 9223372036854775807, Status: "sold"},
			7: {Name: "小白", Status: "pending"},
		})
	})
	t.Run("does not need the column status", func(t *testing.T) {
		t.Parallel()
		assertPets(t, "pets.csv", "name,categoryId\nRex,1\n", map[int]petstore.NewPet{2: {Name: "Rex", CategoryID: 1}})
	})
	t.Run("takes corrected rows of a report, without its escapes", func(t *testing.T) {
		t.Parallel()
		text := "name,categoryId,status,line,reason\n'=SUM(A1),7,sold,3,no\n''tis,-7,,4,no\n'n,1,,5,no\n"
		assertPets(t, "corrected.csv", text, map[int]petstore.NewPet{
			2: {Name: "=SUM(A1)", CategoryID: 7, Status: "sold"},
			3: {Name: "'tis", CategoryID: -7},
			4: {Name: "'n", CategoryID: 1},
		})
	})
	t.Run("gives a bad row a reason and reads the next", func(t *testing.T) {
		t.Parallel()
		assertBadRow(t, "pets.csv", "name,categoryId\n", "A,1\n", "Max,2,sold", "wrong number of fields", "Max,2,sold", "", "")
		for text, cells := range map[string][]string{
			"Rex,1":                                 {"Rex,1", "", ""},
			"Rex,1,sold,yes":                        {"Rex,1,sold,yes", "", ""},
			"Rex,dog,sold":                          {"Rex", "dog", "sold"},
			"Rex,,sold":                             {"Rex", "", "sold"},
			"Rex,1.0,sold":                          {"Rex", "1.0", "sold"},
			"Rex,9223372036854775808,sold":          {"Rex", "9223372036854775808", "sold"},
			`Re"x",1,sold`:                          {`Re"x",1,sold`, "", ""},
			`Re"x,1,sold`:                           {`Re"x,1,sold`, "", ""},
			`"Rex"x,1,sold`:                         {`"Rex"x,1,sold`, "", ""},
			strings.Repeat("x", maxRow) + ",1,sold": {strings.Repeat("x", maxText), "", ""},
		} {
			assertBadRow(t, "pets.csv", header, "A,1,\n", text, "", cells...)
		}
	})
	t.Run("has the last row bad if its quote is not closed", func(t *testing.T) {
		t.Parallel()
		rows, err := readRows("pets.csv", header+"A,1,\n\"B,2,\n")
		require.NoError(t, err)
		require.Len(t, rows, 2)
		assert.Error(t, rows[1].err)
	})
}

func TestDecodeCSV_refused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{ // a quote takes in other rows
		"\"B,2,\nC,3,\n",
		"\"B,2,\nC,3,\n" + strings.Repeat("D,4,\n", maxRow),
		"\"B,2,\nC,3,\n\"D,4,\n",
		"\"B,2,\nC,3,\nD\",4,\n",
		"\"B,dog,\nC\",3,\n",
		"B,2,\"sold\nC,3,sold\"\nD,4,\n",
		"\"B,2,\nC,3,\n\",4,\nD,4,\n",
		"B,\"2,\nC\",3,\n",
		"\"B\nC\",2\nD,4,\n",
	} {
		rows, err := readRows("pets.csv", header+"A,1,\n"+text)
		assert.ErrorContainsf(t, err, "line 3: a quote is missing or too much: it runs on to line ", "%.60q", text)
		assert.Len(t, rows, 1)
	}
	for _, text := range []string{
		"", "Rex,1,available", "name;categoryId;status", "name,status,categoryId", "name", "name,categoryId,status,id",
		"name,categoryId,status,line", "\"name,categoryId,status",
	} {
		_, err := readRows("pets.csv", text+"\n")
		assert.ErrorContains(t, err, "not name,categoryId,status or name,categoryId")
	}
}

func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	text := "\xef\xbb\xbf" + `{"name":"Rex","categoryId":1,"status":"sold"}` + "\r\n\n \t\n" +
		`{"status":null,"categoryId":-9223372036854775808,"name":"Zo\u00eb"}`
	assertPets(t, "pets.jsonl", text, map[int]petstore.NewPet{
		1: {Name: "Rex", CategoryID: 1, Status: "sold"},
		4: {Name: "Zoë", CategoryID: -9223372036854775808},
	})
	for text, reason := range map[string]string{
		`{"name":"Rex"`:                                                 "unexpected EOF",
		`{"name":"Rex","categoryId":1} {}`:                              "after top-level value",
		`{"name":"Rex","categoryId":1,"colour":"red"}`:                  `unknown object member name "colour"`,
		`{"Name":"Rex","categoryId":1}`:                                 `unknown object member name "Name"`,
		`{"name":"Rex","name":"Max","categoryId":1}`:                    `duplicate object member name "name"`,
		`{"categoryId":1}`:                                              "name is missing",
		`{"name":null,"categoryId":1}`:                                  "name is missing",
		`{"name":"Rex"}`:                                                "categoryId is missing",
		`{"name":"Rex","categoryId":null}`:                              "categoryId is missing",
		`{"name":7,"categoryId":1}`:                                     "name",
		`{"name":"Rex","categoryId":"1"}`:                               "categoryId",
		`{"name":"Rex","categoryId":1.0}`:                               "categoryId",
		`{"name":"Rex","categoryId":1e3}`:                               "categoryId",
		`{"name":"Rex","categoryId":9223372036854775808}`:               "categoryId",
		`{"name":"Rex","categoryId":1,"status":true}`:                   "status",
		"{\"name\":\"Re\xff\",\"categoryId\":1}":                        "invalid UTF-8",
		`[]`:                                                            "array",
		`null`:                                                          "name is missing",
		`{"name":"` + strings.Repeat("x", maxRow) + `","categoryId":1}`: "the row is longer than 1 MiB",
	} {
		assertBadRow(t, "pets.ndjson", "", `{"name":"B","categoryId":2}`+"\n", text, reason, text[:min(len(text), maxText)], "", "")
	}
}

func TestReadInput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.csv")
	require.NoError(t, os.WriteFile(path, []byte("name,categoryId\n"+strings.Repeat("Rex,1\n", 10)), 0o600))
	in, err := readInput(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte("name,categoryId\n"), 0o600))
	assert.Equal(t, 10, in.rows)
	assert.Len(t, slices.Collect(in.all()), 10, "a change of the file shows in the next run only")

	other := filepath.Join(t.TempDir(), "other.csv")
	require.NoError(t, os.Symlink(path, other))
	again, err := readInput(other)
	require.NoError(t, err)
	assert.Equal(t, in.file, again.file, "two names of one file have one journal")
	assert.Equal(t, other, again.path)

	for _, text := range []string{"\xff\xfen\x00", "\xfe\xff\x00n", "n\x00a\x00", "\x00n\x00a", "\xff\xfe\x00\x00n", "\x00\x00\xfe\xff"} {
		for _, name := range []string{"pets.csv", "pets.jsonl"} {
			_, err = readRows(name, text)
			assert.ErrorContains(t, err, "UTF-16", "%q", text)
		}
	}

	_, err = readInput(t.TempDir())
	assert.ErrorContains(t, err, "is a directory")
	_, err = readRows("pets.txt", "")
	assert.ErrorContains(t, err, "the file is named neither")

	in, err = readInput("pets.csv")
	require.NoError(t, err)
	assert.Equal(t, sample, in.text)
	assert.Equal(t, 500, in.rows)
	assert.Equal(t, 3, in.check(io.Discard))
}

func FuzzDecode(f *testing.F) {
	f.Add("pets.csv", []byte("\xef\xbb\xbfname,categoryId,status\r\n\"A\r\n\"\"B\",1,sold\n\n\"x\"y,1,\nC,2\n"))
	f.Add("pets.jsonl", []byte("{\"name\":\"A\",\"categoryId\":1}\r\n\n{}\n\xff"))
	f.Fuzz(func(t *testing.T, name string, input []byte) {
		rows, _ := readRows(name, string(input))
		last, lines := 0, bytes.Count(input, []byte("\n"))+1
		for _, r := range rows {
			assert.Greater(t, r.line, last)
			assert.LessOrEqual(t, r.line, lines)
			assert.Len(t, r.cells, 3)
			assert.True(t, r.err == nil || r.pet == petstore.NewPet{})
			last = r.line
		}
	})
}

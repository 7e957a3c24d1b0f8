package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func readRows(name, text string) (rows []row, err error) {
	err = decode(name, strings.NewReader(text), func(r row) bool {
		rows = append(rows, r)
		return true
	})
	return rows, err
}

func TestDecodeCSV(t *testing.T) {
	t.Parallel()
	t.Run("reads what spreadsheets write", func(t *testing.T) {
		t.Parallel()
		rows, err := readRows("Pets.CSV", "\xef\xbb\xbfname,categoryId,status\r\n"+
			"Rex,1,available\r\n"+
			"\r\n"+
			"\"Lady, \"\"the\"\" Countess\",-2,\r\n"+
			"\"Anne\r\nMarie\",9223372036854775807,sold\r\n"+
			"小白,0,pending")
		require.NoError(t, err)
		assert.Equal(t, []row{
			{line: 2, pet: petstore.NewPet{Name: "Rex", CategoryID: 1, Status: "available"}},
			{line: 4, pet: petstore.NewPet{Name: `Lady, "the" Countess`, CategoryID: -2}},
			{line: 5, pet: petstore.NewPet{Name: "Anne\nMarie", CategoryID: 9223372036854775807, Status: "sold"}},
			{line: 7, pet: petstore.NewPet{Name: "小白", Status: "pending"}},
		}, rows)
	})
	t.Run("does without the column status", func(t *testing.T) {
		t.Parallel()
		rows, err := readRows("pets.csv", "name,categoryId\nRex,1\nMax,2,sold\n")
		require.NoError(t, err)
		require.Len(t, rows, 2)
		assert.Equal(t, row{line: 2, pet: petstore.NewPet{Name: "Rex", CategoryID: 1}}, rows[0])
		assert.ErrorContains(t, rows[1].err, "the row has 3 fields, not 2")
	})
	t.Run("takes mended rows of a report, and takes back how that escaped them", func(t *testing.T) {
		t.Parallel()
		rows, err := readRows("mended.csv", "name,categoryId,status,line,reason\n'=SUM(A1),7,sold,3,no\n''tis,-7,,4,no\n'n,1,,5,no\n")
		require.NoError(t, err)
		assert.Equal(t, []row{
			{line: 2, pet: petstore.NewPet{Name: "=SUM(A1)", CategoryID: 7, Status: "sold"}},
			{line: 3, pet: petstore.NewPet{Name: "'tis", CategoryID: -7}},
			{line: 4, pet: petstore.NewPet{Name: "'n", CategoryID: 1}},
		}, rows)
	})
	t.Run("gives a bad row a reason and reads the next", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]row{
			"Rex,1":                                 {cells: []string{"Rex,1", "", ""}},
			"Rex,1,sold,yes":                        {cells: []string{"Rex,1,sold,yes", "", ""}},
			"Rex,dog,sold":                          {cells: []string{"Rex", "dog", "sold"}},
			"Rex,,sold":                             {cells: []string{"Rex", "", "sold"}},
			"Rex,1.0,sold":                          {cells: []string{"Rex", "1.0", "sold"}},
			"Rex,9223372036854775808,sold":          {cells: []string{"Rex", "9223372036854775808", "sold"}},
			`Re"x",1,sold`:                          {cells: []string{`Re"x",1,sold`, "", ""}},
			`"Rex"x,1,sold`:                         {cells: []string{`"Rex"x,1,sold`, "", ""}},
			strings.Repeat("x", maxRow) + ",1,sold": {cells: []string{strings.Repeat("x", maxText), "", ""}},
		} {
			rows, err := readRows("pets.csv", "name,categoryId,status\nA,1,\n"+text+"\nB,2,\n")
			require.NoError(t, err)
			require.Lenf(t, rows, 3, "%.40s", text)
			assert.Equal(t, "B", rows[2].pet.Name)
			assert.Equal(t, 4, rows[2].line)
			assert.Equal(t, 3, rows[1].line)
			assert.Equal(t, want.cells, rows[1].cells)
			assert.Zero(t, rows[1].pet)
			assert.Error(t, rows[1].err)
		}
	})
	t.Run("has the last row bad if its quote is not closed", func(t *testing.T) {
		t.Parallel()
		rows, err := readRows("pets.csv", "name,categoryId,status\nA,1,\n\"B,2,\n")
		require.NoError(t, err)
		require.Len(t, rows, 2)
		assert.Error(t, rows[1].err)
	})
	t.Run("refuses an input in which a quote takes other rows in", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{
			"\"B,2,\nC,3,\n",
			"\"B,2,\nC,3,\n" + strings.Repeat("D,4,\n", 2000),
			"\"B,2,\nC,3,\n\"D,4,\n",
			"\"B,2,\nC,3,\nD\",4,\n",
			"\"B,dog,\nC\",3,\n",
			"B,2,\"sold\nC,3,sold\"\nD,4,\n",
			"\"B,2,\nC,3,\n\",4,\nD,4,\n",
			"B,\"2,\nC\",3,\n",
			"\"B\nC\",2\nD,4,\n",
			"B\"x,2,\nC,3,\nD,4,\n",
		} {
			rows, err := readRows("pets.csv", "name,categoryId,status\nA,1,\n"+text)
			assert.ErrorContainsf(t, err, "line 3: a quote is missing or too much: it runs on to line ", "%.60q", text)
			assert.Len(t, rows, 1)
		}
		_, err := readRows("pets.csv", "")
		assert.EqualError(t, err, "the file is empty")
		_, err = readRows("pets.csv", "name,categoryId,status\nA,1,\n\""+strings.Repeat("D,4,\n", 4*maxRow))
		assert.ErrorContains(t, err, "line 3: a quote is missing or too much")
	})
	t.Run("names the header that it found", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{
			"Rex,1,available", "name;categoryId;status", "name,status,categoryId", "name", "name,categoryId,status,id",
			"name,categoryId,status,line", "\xff\xfen\x00a\x00", "\"name,categoryId,status",
		} {
			_, err := readRows("pets.csv", text+"\n")
			assert.EqualError(t, err, fmt.Sprintf("the first line is %q, not name,categoryId,status or name,categoryId", text))
		}
	})
}

func TestDecode(t *testing.T) {
	t.Parallel()
	_, err := readRows("pets.txt", "")
	assert.ErrorContains(t, err, "the file is named neither")
}

func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	rows, err := readRows("pets.jsonl", "\xef\xbb\xbf"+`{"name":"Rex","categoryId":1,"status":"sold"}`+"\r\n\n \t\n"+
		`{"status":null,"categoryId":-9223372036854775808,"name":"Zo\u00eb"}`)
	require.NoError(t, err)
	assert.Equal(t, []row{
		{line: 1, pet: petstore.NewPet{Name: "Rex", CategoryID: 1, Status: "sold"}},
		{line: 4, pet: petstore.NewPet{Name: "Zoë", CategoryID: -9223372036854775808}},
	}, rows)
	_, err = readRows("pets.jsonl", "{}\n"+strings.Repeat("x", 16*maxRow+1))
	assert.ErrorContains(t, err, "line 2: ")
}

func TestDecodeJSON_badRows(t *testing.T) {
	t.Parallel()
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
		good := `{"name":"B","categoryId":2}` + "\n"
		rows, err := readRows("pets.ndjson", good+text+"\n"+good)
		require.NoError(t, err)
		require.Lenf(t, rows, 3, "%.40s", text)
		assert.Equal(t, "B", rows[2].pet.Name)
		assert.Equal(t, 2, rows[1].line)
		assert.Equal(t, []string{text[:min(len(text), maxText)], "", ""}, rows[1].cells)
		assert.ErrorContainsf(t, rows[1].err, reason, "%.80s", text)
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	input, err := os.ReadFile("pets.csv")
	require.NoError(t, err)
	assert.Equal(t, sample, input)
	rows, err := readRows("pets.csv", string(input))
	require.NoError(t, err)
	assert.Len(t, rows, 500)
	bad := 0
	for _, r := range rows {
		if r.err != nil || r.pet.Name == "" || r.pet.Status != "" && !r.pet.Status.Valid() {
			bad++
		}
	}
	assert.Equal(t, 3, bad)
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
			assert.Equal(t, r.err == nil, r.cells == nil)
			assert.True(t, r.err == nil || r.pet == petstore.NewPet{})
			last = r.line
		}
	})
}

func TestInput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.csv")
	require.NoError(t, os.WriteFile(path, []byte("name,categoryId\n"+strings.Repeat("Rex,1\n", 1<<15)), 0o600))
	in := &input{path: path}
	require.NoError(t, in.check(func(row) {}))
	assert.Equal(t, 1<<15, in.rows)
	n := 0
	for _, err := range in.all(io.Discard) {
		if n++; n == 10 {
			f, openErr := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, openErr)
			_, openErr = f.WriteString("Max,2\n")
			require.NoError(t, errors.Join(openErr, f.Close()))
		}
		if err != nil {
			assert.EqualError(t, err, "line "+strconv.Itoa(n+1)+": the input was changed during the import")
		}
	}
	assert.Less(t, n, 1<<15)

	dir := filepath.Join(t.TempDir(), "dir.csv")
	require.NoError(t, os.Mkdir(dir, 0o700))
	assert.ErrorContains(t, (&input{path: dir}).check(func(row) {}), "is not a regular file")
}

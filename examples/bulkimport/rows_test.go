package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

// TestDecode reads a file of a spreadsheet, one without the column status, a report, and rows that
// are no pets.
func TestDecode(t *testing.T) {
	noPet := petstore.NewPet{}
	for text, want := range map[string]map[int]petstore.NewPet{ // by line
		"name,categoryId,status\r\nRex,1,available\r\n\r\n" +
			"\"Lady, \"\"the\"\" Countess\",-2,\r\n\n小白,9223372036854775807,pending": {
			2: {Name: "Rex", CategoryID: 1, Status: "available"},
			4: {Name: `Lady, "the" Countess`, CategoryID: -2},
			6: {Name: "小白", CategoryID: 9223372036854775807, Status: "pending"},
		},
		"name,categoryId\nRex,1\n'=n,1": {2: {Name: "Rex", CategoryID: 1}, 3: {Name: "'=n", CategoryID: 1}},
		"name,categoryId,status,line,reason\n'=SUM(A1),7,sold,3,no\n''tis,'-7,,4,no\n'n,1,,5,no\n": {
			2: {Name: "=SUM(A1)", CategoryID: 7, Status: "sold"},
			3: {Name: "'tis", CategoryID: -7}, 4: {Name: "'n", CategoryID: 1},
		},
		header + "Rex,1\nRex,1,sold,yes\nRex,dog,sold\nRex,,sold\nRex,1.0,sold\nA,1,\n" +
			"Rex,9223372036854775808,\nRe\"x\",1,\n\"Rex\"x,1,\nB,1,": {
			2: noPet, 3: noPet, 4: noPet, 5: noPet, 6: noPet, 7: {Name: "A", CategoryID: 1}, 8: noPet, 9: noPet, 10: noPet,
			11: {Name: "B", CategoryID: 1},
		},
	} {
		rows, err := decode([]byte(text))
		require.NoError(t, err)
		got := map[int]petstore.NewPet{}
		for _, r := range rows {
			assert.Equal(t, r.pet == noPet, r.err != nil, "line %d", r.line)
			got[r.line] = r.pet
		}
		assert.Equal(t, want, got)
	}
}

func TestDecode_refused(t *testing.T) {
	for _, text := range []string{ // a quote takes in other rows
		"\"B,2,\nC,3,\n", "\"B,2,\nC,3,\nD\",4,\n", "B,2,\"sold\nC,3,sold\"\nD,4,\n", "B,\"2,\nC\",3,\n",
	} {
		_, err := decode([]byte(header + "A,1,\n" + text))
		assert.ErrorContainsf(t, err, "line 3: a quote is missing or too much: it runs on to line ", "%.60q", text)
	}
	for _, text := range []string{
		"", "Rex,1,available", "name;categoryId;status", "name,status,categoryId", "name", "name,categoryId,status,id",
		"name,categoryId,status,line", "\"name,categoryId,status", `{"name":"Rex","categoryId":1}`, "\xff\xfen\x00a\x00",
	} {
		_, err := decode([]byte(text + "\n"))
		assert.ErrorContains(t, err, "not name,categoryId,status or name,categoryId")
	}
}

func TestReadInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pets.csv")
	require.NoError(t, os.WriteFile(path, []byte("\xef\xbb\xbfname,categoryId\n"+strings.Repeat("Rex,1\n", 10)), 0o600))
	in, err := readInput(path)
	require.NoError(t, err)
	assert.Len(t, in.rows, 10)
	link := filepath.Join(t.TempDir(), "pets.jsonl")
	require.NoError(t, os.Symlink(path, link))
	again, err := readInput(link)
	require.NoError(t, err)
	assert.Equal(t, in, again, "two names of one file have one journal, and the same rows")
	_, err = readInput(t.TempDir())
	assert.ErrorContains(t, err, "is a directory")
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("name,categoryId,status\r\n\"A\r\n\"\"B\",1,sold\n\n\"x\"y,1,\nC,2\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		rows, _ := decode(input)
		last, lines := 1, bytes.Count(input, []byte("\n"))+1
		for _, r := range rows {
			assert.Greater(t, r.line, last)
			assert.LessOrEqual(t, r.line, lines)
			assert.Len(t, r.cells, 3)
			assert.True(t, r.err == nil || r.pet == petstore.NewPet{})
			last = r.line
		}
	})
}

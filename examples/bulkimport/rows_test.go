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

func TestDecode(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want map[int]petstore.NewPet // by line
	}{
		"a file of a spreadsheet": {
			"name,categoryId,status\r\nRex,1,available\r\n\r\n\"Lady, \"\"the\"\" Countess\",-2,\r\n" +
				"Max,9223372036854775807,sold\r\n\n小白,0,pending",
			map[int]petstore.NewPet{
				2: {Name: "Rex", CategoryID: 1, Status: "available"},
				4: {Name: `Lady, "the" Countess`, CategoryID: -2},
				5: {Name: "Max", CategoryID: 9223372036854775807, Status: "sold"},
				7: {Name: "小白", Status: "pending"},
			},
		},
		"without the column status": {"name,categoryId\nRex,1\n'=n,1", map[int]petstore.NewPet{
			2: {Name: "Rex", CategoryID: 1}, 3: {Name: "'=n", CategoryID: 1},
		}},
		"a report, without its escapes": {
			"name,categoryId,status,line,reason\n'=SUM(A1),7,sold,3,no\n''tis,-7,,4,no\n'n,1,,5,no\n",
			map[int]petstore.NewPet{
				2: {Name: "=SUM(A1)", CategoryID: 7, Status: "sold"},
				3: {Name: "'tis", CategoryID: -7},
				4: {Name: "'n", CategoryID: 1},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := decode([]byte(test.text))
			require.NoError(t, err)
			got := map[int]petstore.NewPet{}
			for _, r := range rows {
				assert.NoErrorf(t, r.err, "line %d", r.line)
				got[r.line] = r.pet
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestDecode_badRow(t *testing.T) {
	for text, cells := range map[string][]string{
		"Rex,1":                        {"Rex,1", "", ""},
		"Rex,1,sold,yes":               {"Rex,1,sold,yes", "", ""},
		"Rex,dog,sold":                 {"Rex", "dog", "sold"},
		"Rex,,sold":                    {"Rex", "", "sold"},
		"Rex,1.0,sold":                 {"Rex", "1.0", "sold"},
		"Rex,9223372036854775808,sold": {"Rex", "9223372036854775808", "sold"},
		`Re"x",1,sold`:                 {`Re"x",1,sold`, "", ""},
		`"Rex"x,1,sold`:                {`"Rex"x,1,sold`, "", ""},
	} {
		rows, err := decode([]byte(header + "A,1,\n" + text + "\nB,1,\n"))
		require.NoErrorf(t, err, "%.60q", text)
		require.Lenf(t, rows, 3, "%.60q", text)
		assert.Equal(t, 3, rows[1].line)
		assert.Equal(t, cells, rows[1].cells)
		assert.Error(t, rows[1].err)
		assert.NoError(t, rows[2].err)
	}
}

func TestDecode_refused(t *testing.T) {
	for _, text := range []string{ // a quote takes in other rows
		"\"B,2,\nC,3,\n",
		"\"B,2,\nC,3,\n\"D,4,\n",
		"\"B,2,\nC,3,\nD\",4,\n",
		"B,2,\"sold\nC,3,sold\"\nD,4,\n",
		"B,\"2,\nC\",3,\n",
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

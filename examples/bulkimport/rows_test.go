package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func TestACSVFileIsReadAsSpreadsheetsWriteIt(t *testing.T) {
	t.Parallel()
	rows, err := readRows("Pets.CSV", []byte("\xef\xbb\xbfname,categoryId,status\r\n"+
		"Rex,1,available\r\n"+
		"\r\n"+
		"\"Lady, \"\"the\"\" Countess\",-2,\r\n"+
		"\"Anne\r\nMarie\",9223372036854775807,sold\r\n"+
		"小白,0,pending"))
	require.NoError(t, err)
	assert.Equal(t, []row{
		{line: 2, text: "Rex,1,available", pet: petstore.NewPet{Name: "Rex", CategoryID: 1, Status: "available"}},
		{line: 4, text: `"Lady, ""the"" Countess",-2,`, pet: petstore.NewPet{Name: `Lady, "the" Countess`, CategoryID: -2}},
		{
			line: 5, text: "\"Anne\r\nMarie\",9223372036854775807,sold",
			pet: petstore.NewPet{Name: "Anne\nMarie", CategoryID: 9223372036854775807, Status: "sold"},
		},
		{line: 7, text: "小白,0,pending", pet: petstore.NewPet{Name: "小白", Status: "pending"}},
	}, rows)
}

func TestABadRowOfACSVFileHasAReasonAndSparesTheNext(t *testing.T) {
	t.Parallel()
	for text, reason := range map[string]string{
		"Rex,1":                                 "wrong number of fields",
		"Rex,1,sold,yes":                        "wrong number of fields",
		"   ":                                   "wrong number of fields",
		"Rex,dog,sold":                          `categoryId "dog" is not a 64-bit integer`,
		"Rex,,sold":                             `categoryId "" is not a 64-bit integer`,
		"Rex,1.0,sold":                          `categoryId "1.0" is not a 64-bit integer`,
		"Rex,9223372036854775808,sold":          `categoryId "9223372036854775808" is not a 64-bit integer`,
		`Re"x,1,sold`:                           `bare " in non-quoted-field`,
		`"Rex"x,1,sold`:                         `extraneous or missing " in quoted-field`,
		strings.Repeat("x", maxRow) + ",1,sold": errRowTooLong.Error(),
	} {
		rows, err := readRows("pets.csv", []byte("name,categoryId,status\nA,1,\n"+text+"\nB,2,\n"))
		require.NoError(t, err)
		require.Lenf(t, rows, 3, "%.40s", text)
		assert.Equal(t, "B", rows[2].pet.Name)
		assert.Equal(t, 4, rows[2].line)
		assert.Equal(t, 3, rows[1].line)
		assert.Equal(t, text, rows[1].text)
		assert.ErrorContains(t, rows[1].err, reason)
	}
}

func TestAQuoteThatIsNotClosedTakesTheRestOfTheFile(t *testing.T) {
	t.Parallel()
	rows, err := readRows("pets.csv", []byte("name,categoryId,status\nA,1,\n\"B,2,\nC,3,\n"))
	require.NoError(t, err)
	require.Len(t, rows, 2)
	assert.Equal(t, 3, rows[1].line)
	assert.Equal(t, "\"B,2,\nC,3,", rows[1].text)
	assert.Error(t, rows[1].err)
}

func TestAnInputThatIsNotAListOfPetsIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "Rex,1,available\n", "name;categoryId;status\n", "name,status,categoryId\n", "name,categoryId\n",
		"name,categoryId,status,id\n", "\xff\xfen\x00a\x00", "\"name,categoryId,status\n",
	} {
		_, err := readRows("pets.csv", []byte(text))
		assert.ErrorContainsf(t, err, "the first line is not name,categoryId,status", "%q", text)
	}
	_, err := readRows("pets.txt", nil)
	assert.ErrorContains(t, err, "the file is named neither")
}

func TestAJSONLinesFileIsReadLineByLine(t *testing.T) {
	t.Parallel()
	rows, err := readRows("pets.jsonl", []byte("\xef\xbb\xbf"+`{"name":"Rex","categoryId":1,"status":"sold"}`+"\r\n\n \t\n"+
		`{"status":null,"categoryId":-9223372036854775808,"name":"Zo\u00eb"}`))
	require.NoError(t, err)
	require.Len(t, rows, 2)
	assert.Equal(t, petstore.NewPet{Name: "Rex", CategoryID: 1, Status: "sold"}, rows[0].pet)
	assert.Equal(t, 1, rows[0].line)
	assert.Equal(t, petstore.NewPet{Name: "Zoë", CategoryID: -9223372036854775808}, rows[1].pet)
	assert.Equal(t, 4, rows[1].line)
}

func TestABadLineOfAJSONLinesFileHasAReasonAndSparesTheNext(t *testing.T) {
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
		`{"name":"` + strings.Repeat("x", maxRow) + `","categoryId":1}`: errRowTooLong.Error(),
	} {
		good := `{"name":"B","categoryId":2}` + "\n"
		rows, err := readRows("pets.ndjson", []byte(good+text+"\n"+good))
		require.NoError(t, err)
		require.Lenf(t, rows, 3, "%.40s", text)
		assert.Equal(t, "B", rows[2].pet.Name)
		assert.Equal(t, 2, rows[1].line)
		assert.ErrorContainsf(t, rows[1].err, reason, "%.80s", text)
	}
}

func TestTheSampleHas500RowsOfWhich3AreBad(t *testing.T) {
	t.Parallel()
	input, err := os.ReadFile("pets.csv")
	require.NoError(t, err)
	rows, err := readRows("pets.csv", input)
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

func FuzzRowsBeginOnLinesOfTheirOwn(f *testing.F) {
	f.Add("pets.csv", []byte("\xef\xbb\xbfname,categoryId,status\r\n\"A\r\n\"\"B\",1,sold\n\n\"x\"y,1,\nC,2\n"))
	f.Add("pets.jsonl", []byte("{\"name\":\"A\",\"categoryId\":1}\r\n\n{}\n\xff"))
	f.Fuzz(func(t *testing.T, name string, input []byte) {
		rows, err := readRows(name, input)
		if err != nil {
			assert.Empty(t, rows)
			return
		}
		last, lines := 0, bytes.Count(input, []byte("\n"))+1
		for _, r := range rows {
			assert.Greater(t, r.line, last)
			assert.LessOrEqual(t, r.line, lines)
			assert.Contains(t, string(input), r.text)
			assert.True(t, r.err == nil || r.pet == petstore.NewPet{})
			last = r.line
		}
	})
}

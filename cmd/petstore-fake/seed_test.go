package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
)

func TestReadSeed(t *testing.T) {
	t.Parallel()
	t.Run("reads pets", func(t *testing.T) {
		t.Parallel()
		pets, err := readSeed(writeFile(t, `
		[ {"name": "Rex", "categoryId": 9223372036854775807},
		  {"name": "Mimi", "categoryId": 0, "status": "sold"} ]
	`))
		require.NoError(t, err)
		assert.Equal(t, []petstore.NewPet{
			{Name: "Rex", CategoryID: 9223372036854775807},
			{Name: "Mimi", Status: petstore.PetStatusSold},
		}, pets)
		pets, err = readSeed(writeFile(t, "[]"))
		require.NoError(t, err)
		assert.Empty(t, pets)
	})
	t.Run("refuses bad files with position and reason", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct{ text, position, reason string }{
			{"", ":1:1", "ends too early"},
			{"[", ":1:2", "ends too early"},
			{"[}", ":1:2", "not JSON"},
			{"[\n  {\"name\": oops}\n]", ":2:12", "not JSON"},
			{"[] []", ":1:4", "not JSON"},
			{"\n {}", ":2:2", "must be a JSON array"},
			{" null", ":1:2", "must be a JSON array"},
			{"[\n {\"name\":\"a\",\"categoryId\":1},\n {\"name\":\"b\"}]", ":3:2", "pet 2 of the array: the required field categoryId is missing"},
			{`[{"name":"","categoryId":1}]`, ":1:2", "name is empty"},
			{`[{"name":"a","categoryId":1.5}]`, ":1:2", "categoryId"},
			{`[{"name":"a","categoryId":1,"status":"gone"}]`, ":1:2", `"gone"`},
			{`[{"name":"a","categoryId":1,"colour":"red"}]`, ":1:2", `no field "colour"`},
			{`[ null]`, ":1:3", "null"},
		} {
			t.Run(c.text, func(t *testing.T) {
				name := writeFile(t, c.text)
				_, err := readSeed(name)
				if assert.Error(t, err, c.text) {
					assert.True(t, strings.HasPrefix(err.Error(), name+c.position+": "), "%v, want %s", err, c.position)
					assert.Contains(t, err.Error(), c.reason)
					assert.NotContains(t, err.Error(), "\n")
				}
			})
		}
	})
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	name := writeFile(t, strings.Repeat("x", 1<<20))
	text, err := readFile(name, 1<<20)
	require.NoError(t, err)
	assert.Len(t, text, 1<<20)
	_, err = readFile(writeFile(t, strings.Repeat("x", 1<<20+1)), 1<<20)
	assert.ErrorContains(t, err, "is larger than 1 MiB")
}

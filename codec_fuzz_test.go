package petstore

import (
	"bytes"
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/body"
)

// wirePet is a Pet of section 2 for json/v2. Its pointers show whether a required field is present.
type wirePet struct {
	ID         *int64  `json:"id"`
	Name       *string `json:"name"`
	CategoryID *int64  `json:"categoryId"`
	Status     *string `json:"status"`
}

func (p *wirePet) whole() bool {
	return p != nil && p.ID != nil && p.Name != nil && p.CategoryID != nil
}

func (p *wirePet) pet() Pet {
	pet := Pet{ID: *p.ID, Name: *p.Name, CategoryID: *p.CategoryID}
	if p.Status != nil {
		pet.Status = PetStatus(*p.Status)
	}
	return pet
}

func TestDecodePetsMemory(t *testing.T) {
	t.Run("a long list in pieces takes its size once more", func(t *testing.T) {
		const pet = `{"id":7,"name":"%s","categoryId":3},`
		name := strings.Repeat("x", 100_000)
		list := strings.Repeat(strings.Replace(pet, "%s", name, 1), MaxLimit)
		list = "[" + strings.TrimSuffix(list, ",") + "]"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var b body.Buffer
		_, err := b.Fill(strings.NewReader(list), -1, math.MaxInt64)
		require.NoError(t, err)
		pets, err := decodePets(&b)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.Len(t, pets, MaxLimit)
		for _, p := range pets {
			require.Equal(t, Pet{ID: 7, Name: name, CategoryID: 3}, p)
		}
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(list)*5/2), "the pieces, and the names")

		_, err = b.Fill(strings.NewReader(list+"x"), -1, math.MaxInt64)
		require.NoError(t, err)
		_, err = decodePets(&b)
		assert.ErrorContains(t, err, "offset "+strconv.Itoa(len(list)))
	})
	t.Run("more pets than the document allows take their size once more", func(t *testing.T) {
		const pets = 100_000
		list := "[" + strings.TrimSuffix(strings.Repeat(`{"id":7,"name":"x","categoryId":3},`, pets), ",") + "]"
		for _, length := range []int64{-1, int64(len(list))} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var b body.Buffer
			_, err := b.Fill(strings.NewReader(list), length, math.MaxInt64)
			require.NoError(t, err)
			got, err := decodePets(&b)
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			assert.Len(t, got, pets)
			if racing {
				continue // the race detector allocates as well
			}
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(list)+pets*(48+16)+2<<20),
				"the body, the pets with their names, and the joined pieces")
		}
	})
}

// FuzzDecoding compares the three decoders with json/v2: they return the same values, and refuse
// the same bodies and those in which a required field is missing.
func FuzzDecoding(f *testing.F) {
	for _, text := range []string{
		``, ` `, `null`, `[]`, `{}`, `[null]`, `[[]]`, `[1]`, `"x"`, `[{}]`, `[][]`, `[]x`, `<html>`,
		`{"id":7,"name":"Rex","categoryId":3,"status":"available"}`,
		`[{"id":7,"name":"Rex","categoryId":3,"status":"available"},{"id":8,"name":"Ada","categoryId":0}]`,
		`{"id":1,"name":"a","categoryId":2,"status":null}`,
		`{"tags":[{"deep":[1,2,{}]}],"categoryId":2,"name":"a","id":1,"born":null}`,
		`{"\u0069\u0064":1,"n\u0061me":"\u0061","categoryId":2,"status":"s\u006fld"}`,
		" \n{\"id\" : 1, \"name\":\"\\u0061\", \"categoryId\":2}\r\n\t ",
		`{"ID":1,"name":"a","categoryId":1}`, `{"id":1,"id":2,"name":"a","categoryId":1}`,
		`{"id":1.0,"name":"a","categoryId":1e3}`, `{"id":-0,"name":"","categoryId":-9223372036854775808}`,
		`{"id":9223372036854775808,"name":"a","categoryId":1}`, `{"id":"1","name":2,"categoryId":null}`,
		"{\"id\":1,\"name\":\"\xff\",\"categoryId\":1}", `{"id":1,"name":"\ud83d","categoryId":1}`,
		`{"id":1,"name":"\ud83d\udc36","categoryId":1,}`, `{"id":1,"name":"a"`, `[{"id":1,"name":"a","categoryId":1},`,
		`{"code":"c","message":"m","status":404}`, `{"message":"m\u0000"}`, `{"code":404}`, `{"code":null,"message":"m"}`,
		`{"code":"c","message":"m","message":"n"}`, `{"code":"c"} {}`, `[{"code":"c"}]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := &body.Buffer{Bytes: bytes.Clone(text)}
		pets, errPets := decodePets(b)
		pet, errPet := decodePet(b)
		code, message := b.ErrorObject(b.Bytes)
		assert.Equal(t, text, b.Bytes, "decoding does not change the body")
		clear(b.Bytes) // the next call overwrites the buffer, while the caller still has the result
		checkPets(t, text, pets, errPets)
		checkPet(t, text, pet, errPet)
		checkError(t, text, code, message)
	})
}

func checkPets(t *testing.T, body []byte, got []Pet, err error) {
	t.Helper()
	var list *[]*wirePet
	theirs := jsonv2.Unmarshal(body, &list)
	whole := theirs == nil && list != nil && !slices.ContainsFunc(*list, func(p *wirePet) bool { return !p.whole() })
	require.Equal(t, whole, err == nil, "ours: %v; json/v2: %v", err, theirs)
	if err != nil {
		return
	}
	require.NotNil(t, got)
	require.Len(t, got, len(*list))
	for i, p := range *list {
		assert.Equal(t, p.pet(), got[i])
	}
	assert.True(t, json.Valid(body))
}

func checkPet(t *testing.T, body []byte, got Pet, err error) {
	t.Helper()
	var p *wirePet
	theirs := jsonv2.Unmarshal(body, &p)
	require.Equal(t, theirs == nil && p.whole(), err == nil, "ours: %v; json/v2: %v", err, theirs)
	if err == nil {
		assert.Equal(t, p.pet(), got)
		assert.True(t, json.Valid(body))
	}
}

func checkError(t *testing.T, body []byte, code, message string) {
	t.Helper()
	var e struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if jsonv2.Unmarshal(body, &e) != nil {
		e.Code, e.Message = "", ""
	}
	assert.Equal(t, e.Code, code)
	assert.Equal(t, e.Message, message)
}

package body

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBuffer(t *testing.T) {
	t.Run("holds a body up to the limit", func(t *testing.T) {
		for _, size := range []int64{0, 1, 100, usualSize - 1, usualSize, usualSize + 1, 9*usualSize + 7} {
			for _, length := range []int64{-1, size, size + 5, math.MaxInt64} {
				text := bytes.Repeat([]byte("0123456789abcdef!"), int(size)/17+1)[:size]
				var b Buffer
				for _, most := range []int64{size, math.MaxInt64} { // the second time, the buffer is large enough
					tooLarge, err := b.Fill(iotest.DataErrReader(bytes.NewReader(text)), length, most)
					require.NoError(t, err)
					assert.False(t, tooLarge)
					assert.True(t, bytes.Equal(text, b.Bytes), "%d bytes, %d announced", size, length)
				}
				if size > 0 {
					tooLarge, err := b.Fill(bytes.NewReader(text), length, size-1)
					require.NoError(t, err)
					assert.True(t, tooLarge)
					assert.True(t, bytes.Equal(text[:size-1], b.Bytes))
				}
			}
		}
	})
	t.Run("notices one byte too many", func(t *testing.T) {
		tooLarge, err := new(Buffer).Fill(iotest.OneByteReader(strings.NewReader("12345")), -1, 4)
		require.NoError(t, err)
		assert.True(t, tooLarge)
	})
	t.Run("keeps the bytes before a failure", func(t *testing.T) {
		boom := errors.New("cut")
		for _, size := range []int{0, 10, usualSize, 2 * usualSize} {
			var b Buffer
			r := io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(boom))
			_, err := b.Fill(r, -1, 1<<20)
			require.ErrorIs(t, err, boom)
			assert.Len(t, b.Bytes, size)
		}
	})
	t.Run("takes memory for what arrives", func(t *testing.T) {
		const most = 20 << 20
		for name, c := range map[string]struct {
			body   func() io.Reader
			length int64
			memory uint64
		}{
			"an empty body":                     {zeros(0), 0, 100},
			"a short body":                      {zeros(0), 100, 1000},
			"a short body of unknown length":    {zeros(0), -1, 16 << 10},
			"a long body of known length":       {zeros(10 << 20), 10 << 20, 11 << 20},
			"a short body, announced as longer": {zeros(0), 10<<20 + 1, 16 << 10},
			"an endless body":                   {func() io.Reader { return endless{} }, -1, most * 9 / 4}, // the limit, and the smaller sizes before
		} {
			allocated := uint64(math.MaxUint64) // the least of three: the runtime allocates at times, too
			for range 3 {
				var b Buffer
				body := c.body()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				tooLarge, err := b.Fill(body, c.length, most)
				runtime.ReadMemStats(&after)
				require.NoError(t, err)
				assert.Equal(t, name == "an endless body", tooLarge)
				assert.True(t, c.length >= 0 || cap(b.Bytes) >= 16<<10, "a list of 100 pets fits")
				allocated = min(allocated, after.TotalAlloc-before.TotalAlloc)
			}
			assert.LessOrEqual(t, allocated, c.memory+2000, name)
		}
	})
}

func TestPool(t *testing.T) {
	var p Pool
	p.Put(nil)
	p.Put(new(Buffer))
	for range 2 { // one that was used, and a new one
		assert.NotNil(t, p.Get())
	}
	large := &Buffer{Bytes: make([]byte, maxPooled+1)}
	p.Put(large)
	assert.NotSame(t, large, p.Get())
}

func zeros(n int) func() io.Reader {
	return func() io.Reader { return bytes.NewReader(make([]byte, n)) }
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestMediaTypeProblem(t *testing.T) {
	for mediaType, problem := range map[string]string{
		"application/json":                "",
		"application/json; charset=utf-8": "",
		"application/json; charset":       "",
		"Application/JSON":                "",
		"":                                "Content-Type is missing or invalid",
		"a b c":                           "Content-Type is missing or invalid",
		"json":                            `Content-Type is "json", not application/json`,
		"text/html":                       `Content-Type is "text/html", not application/json`,
		"text/json":                       `Content-Type is "text/json", not application/json`,
		"application/problem+json":        `Content-Type is "application/problem+json", not application/json`,
	} {
		assert.Equal(t, problem, MediaTypeProblem(http.Header{"Content-Type": {mediaType}}), mediaType)
	}
	for encoding, problem := range map[string]string{
		"": "", "identity": "", "Identity": "", "br": "Content-Encoding was not requested", "gzip": "Content-Encoding was not requested",
	} {
		h := http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {encoding}}
		assert.Equal(t, problem, MediaTypeProblem(h), encoding)
	}
}

// TestObject reads an object with an int64 n, a string s and an optional string o.
func TestObject(t *testing.T) {
	type object struct {
		n    int64
		s, o string
	}
	read := func(text string) (got object, err error) {
		b := Buffer{Bytes: []byte(text)}
		d := b.Open()
		err = Object(d, func(name []byte) (err error) {
			switch string(name) {
			case "n":
				got.n, err = Int(d)
			case "s":
				got.s, err = String(d)
			case "o":
				var text []byte
				text, err = Bytes(d)
				got.o = string(text)
			default:
				err = d.SkipValue()
			}
			return err
		})
		return got, Finish(d, err)
	}
	for text, want := range map[string]object{
		`{}`:                          {},
		`{"n":7,"s":"a","o":"b"}`:     {7, "a", "b"},
		`{"n":-0,"s":"","o":null}`:    {},
		`{"n":-9223372036854775808}`:  {n: -1 << 63},
		`{"n":9223372036854775807}`:   {n: 1<<63 - 1},
		`{"n":922337203685477580}`:    {n: 922337203685477580},
		`{"x":[{"n":1},null],"n":1}`:  {n: 1},
		`{"\u006e":1,"s":"\u0061\n"}`: {n: 1, s: "a\n"},
		" \n{\"s\" : \"日\" }\r\n\t ":  {s: "日"},
	} {
		got, err := read(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		``: "at offset 0", ` `: "EOF", `[]`: "found [ instead of {", `"x"`: "instead of {", `null`: "instead of {",
		`{`: "unexpected EOF", `{"n":1`: "unexpected EOF", `{'n':1}`: "at offset 1", `{"n":1,}`: "at offset 6", `<html>`: "at offset 0",
		`{"n":"1"}`: "not an int64", `{"n":1.5}`: "not an int64", `{"n":1e3}`: "not an int64", `{"n":null}`: "not an int64",
		`{"n":true}`: "not an int64", `{"n":9223372036854775808}`: "not an int64", `{"n":01}`: "at offset 6", `{"n":+1}`: "at offset 5",
		`{"s":2}`: "not a string", `{"s":["a"]}`: "not a string", `{"s":null}`: "not a string", `{"o":3}`: "not a string",
		`{"n":1,"n":2}`: "duplicate object member name", "{\"s\":\"\xff\"}": "invalid UTF-8", `{"s":"\ud83d"}`: "at offset",
		`{} {}`: "data after top-level value, at offset 4", `{},`: "after top-level value", `{}x`: "after top-level value",
		`{"x":` + strings.Repeat("[", 20000): "exceeded max depth",
	} {
		_, err := read(text)
		assert.ErrorContains(t, err, want, text)
	}
	_, err := read(`{"secret":1,"secret":2}`)
	for ; err != nil; err = errors.Unwrap(err) {
		assert.NotContains(t, err.Error(), "secret", "a name may be the key")
	}
}

func TestErrorObject(t *testing.T) {
	for text, want := range map[string][2]string{
		`{"code":"c","message":"m","status":404,"trace":{"code":1}}`: {"c", "m"}, `{"message":"m\u0000"}`: {"", "m\x00"},
		`{"code":null,"message":"m"}`: {"", "m"}, `{"message":"m"` + strings.Repeat(" ", 1<<20-15) + `}`: {"", "m"},
		// These are no Error objects.
		`{"code":404,"message":"m"}`: {}, `{"message":"m","message":"n"}`: {}, `{"code":"c"} {}`: {}, `[{"code":"c"}]`: {}, ``: {},
		`null`: {}, `<html>no</html>`: {}, "{\"message\":\"\xff\"}": {}, `{"code":"c","message":"m"`: {}, `{"Code":"c"}`: {},
		`{"message":"m"` + strings.Repeat(" ", 1<<20-14) + `}`: {},
	} {
		code, message := ErrorObject([]byte(text))
		assert.Equal(t, want, [2]string{code, message}, "%.50s", text)
	}
}

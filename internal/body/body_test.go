package body

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBuffer(t *testing.T) {
	t.Run("holds a body up to the limit", func(t *testing.T) {
		for _, size := range []int64{0, 1, 100, usualSize - 1, usualSize, usualSize + 1, 9*usualSize + 7} {
			for _, length := range []int64{-1, size, size + 5, math.MaxInt64} {
				text := bytes.Repeat([]byte("0123456789abcdef!"), int(size)/17+1)[:size]
				var b Buffer
				for _, most := range []int64{size, math.MaxInt64, size - 1} { // from the second on, the buffer is large enough
					if most < 0 {
						continue
					}
					tooLarge, err := b.Fill(t.Context(), iotest.DataErrReader(bytes.NewReader(text)), length, most)
					require.NoError(t, err)
					assert.Equal(t, most < size, tooLarge)
					assert.True(t, bytes.Equal(text[:min(size, most)], b.Bytes), "%d bytes, %d announced", size, length)
				}
			}
		}
	})
	t.Run("keeps the bytes before a failure", func(t *testing.T) {
		boom := errors.New("cut")
		for _, size := range []int{0, 10, usualSize, 2 * usualSize} {
			var b Buffer
			r := io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(boom))
			_, err := b.Fill(t.Context(), iotest.HalfReader(r), -1, 1<<20)
			require.ErrorIs(t, err, boom)
			assert.Len(t, b.Bytes, size)
		}
		reads := 0
		_, err := new(Buffer).Fill(t.Context(), reader(func([]byte) (int, error) { reads++; return 0, nil }), -1, 9)
		require.ErrorIs(t, err, io.ErrNoProgress)
		assert.Equal(t, 101, reads, "as package bufio")
	})
	t.Run("ends with the context, but not while bytes come at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			var b Buffer
			_, err := b.Fill(ctx, iotest.OneByteReader(strings.NewReader("late")), -1, 9)
			require.NoError(t, err)
			slow := reader(func(p []byte) (int, error) { time.Sleep(grace / 2); return copy(p, " "), nil })
			_, err = b.Fill(ctx, slow, -1, 9)
			require.ErrorIs(t, err, context.Canceled)
			assert.Len(t, b.Bytes, 3)
		})
	})
	t.Run("takes memory for what arrives", func(t *testing.T) {
		const most = 20 << 20
		endless := reader(func(p []byte) (int, error) { return len(p), nil })
		for name, c := range map[string]struct {
			body           io.Reader // endless if it is nil
			length, memory int64
		}{
			"an empty body":                     {strings.NewReader(""), 0, 100},
			"a short body":                      {strings.NewReader("short"), 100, 1000},
			"a short body of unknown length":    {strings.NewReader("short"), -1, 16 << 10},
			"a long body of known length":       {io.LimitReader(endless, 10<<20), 10 << 20, 11 << 20},
			"a short body, announced as longer": {strings.NewReader("short"), 10<<20 + 1, 16 << 10},
			"an endless body":                   {endless, -1, most * 9 / 4}, // and the smaller buffers before it
		} {
			var b Buffer
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tooLarge, err := b.Fill(t.Context(), c.body, c.length, most)
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			assert.Equal(t, name == "an endless body", tooLarge)
			assert.True(t, c.length >= 0 || cap(b.Bytes) >= 16<<10, "a list of 100 pets fits")
			const runtimes = 8000 // bytes that the runtime itself may allocate
			assert.LessOrEqual(t, int64(after.TotalAlloc-before.TotalAlloc), c.memory+runtimes, name)
		}
	})
}

// The buffer of a body without a Content-Length goes back to the pool, unless it is one of the
// longest.
func TestPool(t *testing.T) {
	var p Pool
	p.Put(nil)
	assert.NotNil(t, p.Get())
	for size, kept := range map[int]bool{100: true, usualSize: true, 200 << 10: true, 300 << 10: false} {
		b := p.Get()
		_, err := b.Fill(t.Context(), bytes.NewReader(make([]byte, size)), -1, 1<<20)
		require.NoError(t, err)
		assert.Equal(t, kept, cap(b.Bytes) <= maxPooled)
		p.Put(b)
	}
	var empty Pool
	large := &Buffer{Bytes: make([]byte, maxPooled+1)}
	empty.Put(large)
	assert.NotSame(t, large, empty.Get())
}

type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

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
		"": "", "identity": "", "Identity": "", "br": "Content-Encoding was not requested",
	} {
		h := http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {encoding}}
		assert.Equal(t, problem, MediaTypeProblem(h), encoding)
	}
}

// TestObject reads an object with an int64 n and a string s.
func TestObject(t *testing.T) {
	type object struct {
		n int64
		s string
	}
	read := func(text string) (got object, err error) {
		b := Buffer{Bytes: []byte(text)}
		d := b.Open()
		err = Object(d, func(name []byte) (known bool, err error) {
			switch string(name) {
			case "n":
				got.n, err = Int(d)
			case "s":
				name, err = Text(d)
				got.s = string(name)
			default:
				return false, nil
			}
			return true, err
		})
		return got, Finish(d, err)
	}
	for text, want := range map[string]object{
		`{}`:                          {},
		`{"n":7,"s":"a","o":"b"}`:     {7, "a"},
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
		`{`: "unexpected EOF", `{"n":1`: "unexpected EOF", `{'n':1}`: "at offset 1", `{"n":1,}`: "at offset 6",
		`{"n":"1"}`: "not an int64", `{"n":1.5}`: "not an int64", `{"n":1e3}`: "not an int64", `{"n":null}`: "not an int64",
		`{"n":9223372036854775808}`: "not an int64", `{"n":01}`: "at offset 6", `{"n":+1}`: "at offset 5",
		`{"s":2}`: "not a string", `{"s":["a"]}`: "not a string", `{"s":null}`: "not a string",
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
		`{"code":404,"message":"m"}`: {}, `{"message":"m","message":"n"}`: {}, `{"code":"c"} {}`: {}, ``: {},
		`null`: {}, `<html>no</html>`: {}, "{\"message\":\"\xff\"}": {}, `{"code":"c","message":"m"`: {}, `{"Code":"c"}`: {},
		`{"message":"m"` + strings.Repeat(" ", 1<<20-14) + `}`: {},
	} {
		code, message := (&Buffer{Bytes: []byte(text)}).ErrorObject()
		assert.Equal(t, want, [2]string{code, message}, "%.50s", text)
	}
}

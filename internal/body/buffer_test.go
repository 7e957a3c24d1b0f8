package body

import (
	"bytes"
	"errors"
	"io"
	"math"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBuffer(t *testing.T) {
	t.Run("holds a body up to the limit", func(t *testing.T) {
		for _, size := range []int64{0, 1, 100, usualSize - 1, usualSize, usualSize + 1, 9*usualSize + 7, maxTrusted, maxTrusted + 1} {
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
			body   io.Reader
			length int64
			memory uint64
		}{
			"a short body":                      {bytes.NewReader(nil), 100, 1000},
			"a short body of unknown length":    {bytes.NewReader(nil), -1, usualSize},
			"a long body of known length":       {bytes.NewReader(make([]byte, maxTrusted)), maxTrusted, maxTrusted * 11 / 10},
			"a short body, announced as longer": {bytes.NewReader(nil), maxTrusted + 1, usualSize},
			"an endless body":                   {endless{}, -1, most * 5 / 2}, // its last two sizes, and smaller ones
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var b Buffer
			tooLarge, err := b.Fill(c.body, c.length, most)
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			assert.Equal(t, name == "an endless body", tooLarge)
			assert.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, c.memory+2000, name)
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

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

package petstore

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

func TestABufferHoldsWhatComesUpToTheMost(t *testing.T) {
	for _, size := range []int{0, 1, 100, usualSize - 1, usualSize, usualSize + 1, usualSize + pieceSize, 3*pieceSize + 7} {
		for _, length := range []int64{-1, int64(size), int64(size) + 5, math.MaxInt64} {
			text := bytes.Repeat([]byte("0123456789abcdef!"), size/17+1)[:size]
			var b buffer
			for range 2 { // the second time it has room
				tooLarge, err := b.fill(iotest.HalfReader(bytes.NewReader(text)), length, int64(size))
				require.NoError(t, err)
				assert.False(t, tooLarge)
				assert.True(t, bytes.Equal(text, b.bytes), "%d bytes, %d announced", size, length)
			}
			if size == 0 {
				continue
			}
			tooLarge, err := b.fill(bytes.NewReader(text), length, int64(size)-1)
			require.NoError(t, err)
			assert.True(t, tooLarge)
			assert.True(t, bytes.HasPrefix(text, b.bytes))
			assert.GreaterOrEqual(t, len(b.bytes), min(size-1, usualSize))
			assert.Less(t, len(b.bytes), size)
		}
	}
}

func TestABufferKeepsWhatCameBeforeAFailure(t *testing.T) {
	boom := errors.New("cut")
	for _, size := range []int{0, 10, usualSize, 2 * pieceSize} {
		var b buffer
		r := io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(boom))
		_, err := b.fill(r, -1, 1<<20)
		require.ErrorIs(t, err, boom)
		assert.Len(t, b.bytes, size)
	}
}

func TestAnEndlessBodyTakesLittleMoreThanItsBound(t *testing.T) {
	const most = 10 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var b buffer
	tooLarge, err := b.fill(endless{}, -1, most)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	assert.True(t, tooLarge)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(most*5/4))
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

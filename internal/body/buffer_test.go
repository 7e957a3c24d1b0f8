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
	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBuffer(t *testing.T) {
	t.Run("holds a body up to the limit", func(t *testing.T) {
		for _, size := range []int{0, 1, 100, usualSize - 1, usualSize, usualSize + 1, usualSize + pieceSize, 3*pieceSize + 7, 2*maxErrorObject + 7} {
			for _, length := range []int64{-1, int64(size), int64(size) + 5, math.MaxInt64} {
				text := bytes.Repeat([]byte("0123456789abcdef!"), size/17+1)[:size]
				var b Buffer
				for range 2 { // the second time, the buffer is large enough
					tooLarge, err := b.Fill(iotest.HalfReader(bytes.NewReader(text)), length, int64(size))
					require.NoError(t, err)
					assert.False(t, tooLarge)
					assert.True(t, bytes.Equal(text, b.Whole()), "%d bytes, %d announced", size, length)
					assert.GreaterOrEqual(t, len(b.Bytes), min(size, maxErrorObject), "an Error object is in one piece")
				}
				if size == 0 {
					continue
				}
				tooLarge, err := b.Fill(bytes.NewReader(text), length, int64(size)-1)
				require.NoError(t, err)
				assert.True(t, tooLarge)
				assert.True(t, bytes.HasPrefix(text, b.Bytes))
				assert.GreaterOrEqual(t, len(b.Bytes), min(size-1, usualSize))
				assert.Less(t, len(b.Bytes), size)
			}
		}
	})
	t.Run("keeps the bytes before a failure", func(t *testing.T) {
		boom := errors.New("cut")
		for _, size := range []int{0, 10, usualSize, 2 * pieceSize} {
			var b Buffer
			r := io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(boom))
			_, err := b.Fill(r, -1, 1<<20)
			require.ErrorIs(t, err, boom)
			assert.Len(t, b.Bytes, size)
		}
	})
	t.Run("an endless body takes little more than the limit", func(t *testing.T) {
		const most = 10 << 20
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var b Buffer
		tooLarge, err := b.Fill(endless{}, -1, most)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		assert.True(t, tooLarge)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(most*5/4))
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

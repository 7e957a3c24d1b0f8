package petstore

import (
	"bytes"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBuffer(t *testing.T) {
	t.Run("holds a body up to the limit", func(t *testing.T) {
		for _, size := range []int{0, 1, 100, usualSize - 1, usualSize, usualSize + 1, usualSize + pieceSize, 3*pieceSize + 7, 2*maxErrorObject + 7} {
			for _, length := range []int64{-1, int64(size), int64(size) + 5, math.MaxInt64} {
				text := bytes.Repeat([]byte("0123456789abcdef!"), size/17+1)[:size]
				var b buffer
				for range 2 { // the second time, the buffer is large enough
					tooLarge, err := b.fill(iotest.HalfReader(bytes.NewReader(text)), length, int64(size))
					require.NoError(t, err)
					assert.False(t, tooLarge)
					whole := slices.Concat(append([][]byte{b.bytes}, b.rest...)...)
					assert.True(t, bytes.Equal(text, whole), "%d bytes, %d announced", size, length)
					assert.GreaterOrEqual(t, len(b.bytes), min(size, maxErrorObject), "an Error object is in one piece")
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
	})
	t.Run("a long list in pieces takes its size once more", func(t *testing.T) {
		const pet = `{"id":7,"name":"%s","categoryId":3},`
		name := strings.Repeat("x", 100_000)
		list := strings.Repeat(strings.Replace(pet, "%s", name, 1), MaxLimit)
		list = "[" + strings.TrimSuffix(list, ",") + "]"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var b buffer
		_, err := b.fill(strings.NewReader(list), -1, math.MaxInt64)
		require.NoError(t, err)
		pets, err := decodePets(&b)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.Len(t, pets, MaxLimit)
		for _, p := range pets {
			require.Equal(t, Pet{ID: 7, Name: name, CategoryID: 3}, p)
		}
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(list)*5/2), "the pieces, and the names")

		_, err = b.fill(strings.NewReader(list+"x"), -1, math.MaxInt64)
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
			var b buffer
			_, err := b.fill(strings.NewReader(list), length, math.MaxInt64)
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
	t.Run("keeps the bytes before a failure", func(t *testing.T) {
		boom := errors.New("cut")
		for _, size := range []int{0, 10, usualSize, 2 * pieceSize} {
			var b buffer
			r := io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(boom))
			_, err := b.fill(r, -1, 1<<20)
			require.ErrorIs(t, err, boom)
			assert.Len(t, b.bytes, size)
		}
	})
	t.Run("an endless body takes little more than the limit", func(t *testing.T) {
		const most = 10 << 20
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var b buffer
		tooLarge, err := b.fill(endless{}, -1, most)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		assert.True(t, tooLarge)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(most*5/4))
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

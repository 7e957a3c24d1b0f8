package headers

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParseCount(t *testing.T) {
	for _, most := range []int64{0, 7, 99, math.MaxInt64/10 - 1} {
		for _, n := range []int64{0, 1, most, most + 1, 10*most + 9, math.MaxInt64} {
			got, ok := parseCount([]string{strconv.FormatInt(n, 10)}, most)
			assert.Equal(t, n <= most, ok, "%d of %d", n, most)
			if ok {
				assert.Equal(t, n, got)
			}
		}
	}
	_, ok := parseCount([]string{"1", "2"}, 9)
	assert.False(t, ok)
	n, ok := parseCount([]string{"0042"}, 42)
	assert.True(t, ok)
	assert.EqualValues(t, 42, n)
	for _, text := range []string{"", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "1_0", "٣", "99999999999999999999999"} {
		_, ok := parseCount([]string{text}, math.MaxInt64)
		assert.False(t, ok, "%q", text)
	}
}

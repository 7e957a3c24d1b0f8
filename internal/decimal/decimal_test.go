package decimal_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/decimal"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	for _, most := range []int64{0, 7, 99, decimal.Max} {
		for _, n := range []int64{0, 1, most, most + 1, 10*most + 9, math.MaxInt64} {
			got, ok := decimal.Parse(strconv.FormatInt(n, 10), most)
			assert.Equal(t, n <= most, ok, "%d of %d", n, most)
			if ok {
				assert.Equal(t, n, got)
			}
		}
	}
	n, ok := decimal.Parse([]byte("0042"), 42)
	assert.True(t, ok)
	assert.EqualValues(t, 42, n)
	for _, text := range []string{"", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "1_0", "٣", "99999999999999999999999"} {
		_, ok := decimal.Parse(text, decimal.Max)
		assert.False(t, ok, "%q", text)
	}
}

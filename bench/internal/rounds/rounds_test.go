package rounds_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/bench/internal/rounds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCompare(t *testing.T) {
	// The clock of this test is the work that was done.
	var clock time.Duration
	worker := func(name string, cost time.Duration) rounds.Contender {
		return rounds.Contender{
			Name: name,
			Do:   func(n int) error { clock += time.Duration(n) * cost; return nil },
			CPU:  func() time.Duration { return clock },
		}
	}
	t.Run("divides by the first", func(t *testing.T) {
		got, err := rounds.Compare([]rounds.Contender{worker("base", 10), worker("half", 5)}, 20, time.Microsecond)
		require.NoError(t, err)
		assert.Equal(t, []rounds.Ratio{{1, 1, 1}, {0.5, 0.5, 0.5}}, got)
	})
	t.Run("returns the error of a contender with its name", func(t *testing.T) {
		broken := rounds.Contender{Name: "broken", Do: func(int) error { return errors.ErrUnsupported }}
		_, err := rounds.Compare([]rounds.Contender{worker("base", 10), broken}, 1, time.Microsecond)
		assert.EqualError(t, err, "broken: unsupported operation")
	})
}

func TestRatio(t *testing.T) {
	assert.True(t, rounds.Ratio{Median: 1, Low: 0.96, High: 1.04}.Exact())
	assert.False(t, rounds.Ratio{Median: 1, Low: 0.94, High: 1.01}.Exact())
	assert.False(t, rounds.Ratio{Median: 0.5, Low: 0.5, High: 0.54}.Exact())
}

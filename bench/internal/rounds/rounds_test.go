package rounds_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/bench/internal/rounds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCompare(t *testing.T) {
	var clock time.Duration // of this test: the work that was done
	worker := func(cost time.Duration) rounds.Contender {
		return rounds.Contender{
			Do:  func(n int) { clock += time.Duration(n) * cost },
			CPU: func() time.Duration { return clock },
		}
	}
	got := rounds.Compare([]rounds.Contender{worker(10), worker(5)}, 20, time.Microsecond)
	assert.Equal(t, []rounds.Ratio{{1, 1, 1}, {0.5, 0.5, 0.5}}, got)
}

func TestRatio(t *testing.T) {
	assert.True(t, rounds.Ratio{Median: 1, Low: 0.96, High: 1.04}.Exact())
	assert.False(t, rounds.Ratio{Median: 1, Low: 0.94, High: 1.01}.Exact())
	assert.False(t, rounds.Ratio{Median: 0.5, Low: 0.5, High: 0.54}.Exact())
}

func TestCPU(t *testing.T) {
	assert.Positive(t, rounds.CPU())
}

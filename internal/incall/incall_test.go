package incall

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTicketsOf(t *testing.T) {
	var tickets Tickets
	next := func(n uint64) func() uint64 { return func() uint64 { return n } }
	for range 2 {
		assert.EqualValues(t, 1, tickets.Of("a", next(1)))
		assert.EqualValues(t, 7, tickets.Of("b", next(7)))
		assert.EqualValues(t, 9, tickets.Of("c", next(9)))
	}
}

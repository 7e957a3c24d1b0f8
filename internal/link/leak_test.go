package link

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/loopback"
)

// No test leaves a goroutine behind.
func TestMain(m *testing.M) {
	loopback.SkipExamples()
	goleak.VerifyTestMain(m)
}

package petstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/internal/loopback"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	loopback.SkipExamples()
	goleak.VerifyTestMain(m)
}

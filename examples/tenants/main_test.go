package main

import (
	"go.uber.org/goleak"
	"testing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	main()
	// Output:
	// zoo true
	// farm true
	// zoo false
	// farm true
}

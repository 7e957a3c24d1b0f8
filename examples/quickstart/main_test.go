package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	_ = os.Unsetenv("PETSTORE_BASE_URL") // no test calls a real service
	goleak.VerifyTestMain(m)
}

func Example() {
	main()
	// Output:
	// 1 Rex, available
	// added Nala with id 3, pending
	// 998 of 1000 requests left in this window
}

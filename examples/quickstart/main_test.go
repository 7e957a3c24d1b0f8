package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/petstore/petstore-go/fake"
)

func TestMain(m *testing.M) {
	_ = os.Unsetenv("PETSTORE_BASE_URL") // no test calls a real service
	goleak.VerifyTestMain(m)
}

func Example() {
	main()
	// Output:
	// 1 Rex, available
	// 2 Mimi, available
	// added Nala with id 4, pending
	// 998 of 1000 requests left in this window
}

// A service that the environment names is used in place of the fake.
func Example_service() {
	server := fake.NewServer(fake.WithPlan(fake.PlanFree))
	defer server.Close()
	_ = os.Setenv("PETSTORE_BASE_URL", server.URL())
	_ = os.Setenv("PETSTORE_API_KEY", server.APIKey())
	defer os.Unsetenv("PETSTORE_BASE_URL")
	main()
	// Output:
	// added Nala with id 1, pending
	// 58 of 60 requests left in this window
}

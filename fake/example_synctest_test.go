package fake_test

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// waitsForTomorrow is a test that takes microseconds: in a bubble, time passes as soon as everybody
// waits. The client waits for as long as the server's Retry-After says.
func waitsForTomorrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(0, 1))) // one request per day
		client := srv.Client(petstore.WithMaxWait(48 * time.Hour))
		start := time.Now()
		for range 2 {
			if _, err := client.ListPets(t.Context(), petstore.ListPetsParams{}); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Println("the second request came after", time.Since(start).Round(time.Hour))
	})
}

// A client waits for a day in a testing/synctest bubble.
func Example_synctest() {
	runTest(waitsForTomorrow)
	// Output: the second request came after 24h0m0s
}

// runTest does what go test does with a function of that kind, but once, whatever -count and -cpu
// say, and silently with -v, too.
func runTest(f func(*testing.T)) {
	verbose := flag.Lookup("test.v").Value
	was := verbose.String()
	_ = verbose.Set("false")
	defer func() { _ = verbose.Set(was) }()
	all := func(_, _ string) (bool, error) { return true, nil }
	var once sync.Once
	testing.RunTests(all, []testing.InternalTest{{Name: "TestExample", F: func(t *testing.T) { once.Do(func() { f(t) }) }}})
}

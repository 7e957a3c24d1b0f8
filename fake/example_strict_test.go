package fake_test

import (
	"context"
	"fmt"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// A strict test fails for what a well-behaved client does not do.
func ExampleWithStrict() {
	t := &printed{} // in a test, its *testing.T
	srv := fake.NewTestServer(t, fake.WithStrict(fake.RuleDeprecated))
	// The categoryId is missing in the file, and decoding makes it 0.
	_, err := srv.Client().CreatePet(context.Background(), petstore.NewPet{Name: "Rex"})
	fmt.Println(err)
	t.cleanups[0]() // what the end of the test does
	// Output:
	// <nil>
	// fake: zero-category (section 2): categoryId is 0, a legal value, or a field that was missing in what the program decoded, request #1
	// fake: the server of TestImport served 1 request
	// 	+0s #1 POST /v1/pets "{\"name\":\"Rex\",\"categoryId\":0}" → 201
}

// printed stands in for the *testing.T of a test, since an example has none.
type printed struct {
	failed   bool
	cleanups []func()
}

func (*printed) Helper()                    {}
func (*printed) Name() string               { return "TestImport" }
func (p *printed) Failed() bool             { return p.failed }
func (p *printed) Cleanup(f func())         { p.cleanups = append(p.cleanups, f) }
func (*printed) Logf(f string, args ...any) { fmt.Printf(f+"\n", args...) }

func (p *printed) Errorf(format string, args ...any) {
	p.failed = true
	fmt.Printf(format+"\n", args...)
}

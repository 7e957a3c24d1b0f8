package fake_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func ExampleNewTestServer() {
	t := &recorder{} // in a test, its *testing.T
	srv := fake.NewTestServer(t)
	client := srv.Client()
	if _, err := client.CreatePet(context.Background(), petstore.NewPet{Name: "Rex", CategoryID: 1}); err != nil {
		t.Errorf("CreatePet: %v", err)
	}
	if len(srv.Pets()) != 2 {
		t.Errorf("%d pets, want 2", len(srv.Pets()))
	}
	t.end()
	fmt.Print(t.errors.String() + t.log.String())
	// Output:
	// 1 pets, want 2
	// fake: the server of TestImport served 1 requests
	// 	+0s #1 POST /v1/pets "{\"name\":\"Rex\",\"categoryId\":1}" → 201
}

func ExampleServer_Inject() {
	srv := fake.NewServer()
	defer srv.Close()
	srv.Inject(fake.Fault{
		Operation:   petstore.OpCreatePet,
		AfterCommit: true, // the pet is added, and then the response is lost
		Wire:        fake.WireReset,
	})
	_, err := srv.Client().CreatePet(context.Background(), petstore.NewPet{Name: "Rex", CategoryID: 1})
	fmt.Println("outcome unknown:", errors.Is(err, petstore.ErrOutcomeUnknown))
	fmt.Println("reset:", errors.Is(err, syscall.ECONNRESET))
	fmt.Println("pets:", len(srv.Pets()))
	// Output:
	// outcome unknown: true
	// reset: true
	// pets: 1
}

func ExampleFault_match() {
	srv := fake.NewServer(fake.WithFaults(fake.Fault{
		Operation: petstore.OpCreatePet,
		Match: func(r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			return strings.Contains(string(body), "Bobby")
		},
		Status: http.StatusForbidden, Code: "name_taken", Message: "there is a Bobby already",
	}))
	defer srv.Close()
	for _, name := range []string{"Rex", "Bobby"} {
		_, err := srv.Client().CreatePet(context.Background(), petstore.NewPet{Name: name, CategoryID: 1})
		fmt.Println(name, err)
	}
	// Output:
	// Rex <nil>
	// Bobby petstore: createPet: 403 name_taken: "there is a Bobby already"
}

// A strict test fails for what a well-behaved client does not do.
func ExampleWithStrict() {
	t := &recorder{} // in a test, its *testing.T
	srv := fake.NewTestServer(t, fake.WithStrict())
	// The program still calls getPet. WithStrict(fake.RuleDeprecated) would allow it.
	_, _ = srv.Client().Do(context.Background(), http.MethodGet, "pets/1", nil, nil)
	t.end()
	fmt.Print(t.errors.String())
	// Output:
	// fake: deprecated-operation (section 4.3): getPet is removed on 5 December 2030; listPets takes its place, request #1
}

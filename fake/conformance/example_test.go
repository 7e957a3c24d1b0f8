package conformance_test

import (
	"testing"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/conformance"
)

// The service here is a fake. Run reports each clause as a subtest, such as "4.2 success is 201".
func ExampleRun() {
	test := func(t *testing.T) {
		srv := fake.NewTestServer(t)
		conformance.Run(t, conformance.Target{
			BaseURL: "http://petstore.example/v1", APIKey: srv.APIKey(), HTTPClient: srv.HTTPClient(),
		})
	}
	_ = test // go test calls it
}

package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/testkit"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		run(t.Context(), fake.NewTestServer(t), &out)
		testkit.AssertGolden(t, "testdata/output.txt", out.String())
	})
}

package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFake()
		defer server.Close()
		var out strings.Builder
		require.NoError(t, run(t.Context(), server.Client(), &out))
		assert.Equal(t, `
The first pets (5)
  ID   NAME     CATEGORY   STATUS
  1    Rex      1          available
  2    Mimi     2          available
  3    Hoppel   3          sold
  4    Coco     4          pending
  5    Bruno    1          available

Available (3)
  ID   NAME    CATEGORY   STATUS
  1    Rex     1          available
  2    Mimi    2          available
  5    Bruno   1          available

Added Nala with id 6, status pending

997 of 1000 requests left in this window
`, out.String())
	})
}

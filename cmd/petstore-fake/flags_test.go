package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStrict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body  string
		reset bool
		want  int
	}{
		"violations are listed and the status is 1": {`{"name":"Rex","categoryId":0,"colour":"red"}`, false, exitFailed},
		"a well-behaved client gets status 0":       {`{"name":"Rex","categoryId":1}`, false, exitOK},
		"a reset forgets the violations":            {`{"name":"Rex","categoryId":0,"colour":"red"}`, true, exitOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, "-strict")
			_, _, err := do(keepingClient(t), requestTo(t, r.host, "POST", "/v1/pets", c.body))
			require.NoError(t, err)
			if c.reset {
				_, _, err = do(keepingClient(t), requestTo(t, r.host, "POST", "/_fake/reset", ""))
				require.NoError(t, err)
			}
			assert.Equal(t, c.want, r.stop())
			if text := r.output.String(); c.want == exitFailed {
				assert.Contains(t, text, "violation of unknown-field by request 1 (section 2): ")
				assert.Contains(t, text, "violation of zero-category by request 1 ")
				assert.Contains(t, text, "-strict: the clients are not well-behaved: 2 violations")
			}
		})
	}
}

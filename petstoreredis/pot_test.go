package petstoreredis_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The script has numbers that Go code has, too: each must be the same in both.
func TestPotNumbers(t *testing.T) {
	needsRepository(t)
	number := func(file, pattern string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		require.Len(t, found, 2, "%s has no %s", file, pattern)
		return string(found[1])
	}
	for _, row := range []struct{ inScript, file, inGo string }{
		{`same_window = (\d+)`, "../ratelimit/window.go", `sameWindow += (\d+) \* time.Second`},
		{`local reason_response = (\d+)`, "command.go", `responseIndex = (\d+)`},
		{`same_window = (\d+)`, "release.go", `sameWindow = (\d+) \* time.Second`},
		{`longest_minute = minute \+ (\d+) \* second`, "../ratelimit/window.go", `slack += (\d+) \* time.Second`},
		{`await_after_429 = (\d+) \* second`, "../ratelimit/budget.go", `slowAfter429 += (\d+) \* time.Second`},
		{`growth = (\S+)`, "../ratelimit/others.go", `int\((\S+) \* min\(`},
		{`reserve_part = (\d+)`, "../ratelimit/others.go", `b\.limit / (\d+)\n`},
		{`pot\.urgent \+ (\d+) \* minute`, "../ratelimit/others.go", `lastForeground\) < (\d+)\*windowLength`},
	} {
		assert.Equal(t, number(row.file, row.inGo), number("pot.lua", row.inScript), row.inScript)
	}
}

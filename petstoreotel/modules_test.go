package petstoreotel_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestModuleLinksNoSDK(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	require.NoError(t, err)
	linked := strings.Fields(string(out))
	slices.Sort(linked)
	const telemetry = "go.opentelemetry.io/"
	linked = slices.DeleteFunc(slices.Compact(linked), func(m string) bool { return !strings.HasPrefix(m, telemetry) })
	assert.Equal(t, []string{
		telemetry + "auto/sdk", // what the API links of itself, as well as the logs
		telemetry + "otel",
		telemetry + "otel/log",
		telemetry + "otel/metric",
		telemetry + "otel/trace",
	}, linked)
}

func TestRootModuleKnowsNothingOfOpenTelemetry(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../go.mod", "../go.sum"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NotEmpty(t, text)
		assert.NotContains(t, string(text), "go.opentelemetry.io", file)
	}
}

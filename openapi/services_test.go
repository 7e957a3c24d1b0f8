package openapi

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The services below were not written for this repository's conformance suite, nor the suite
// for them: the clauses that each of them fails are what the run finds in code of others.

func TestConformance_ogenServer(t *testing.T) {
	t.Parallel()
	assertFails(t, start(t, build(t, "ogenserver", ogenServer), key),
		// ogen's own refusals are {"error_message":...} and know no headers.
		"2 Error/code is a string",
		"2 Error/message is a string",
		"2 Error/status is the HTTP status",
		"8.2 every response carries X-RateLimit-Limit",
		"8.2 every response carries X-RateLimit-Remaining",
		"8.2 every response carries X-RateLimit-Reset",
	)
}

func TestConformance_oapiCodegenServer(t *testing.T) {
	t.Parallel()
	assertFails(t, start(t, build(t, "oapicodegenserver", oapiServer), key),
		// Its decoder checks neither required fields nor enumerations.
		"2 NewPet/categoryId is required",
		"2 NewPet/name is required",
		"2 NewPet/status is a PetStatus",
		"2 Pet/status is a PetStatus if it is there",
		"4.2 a body without the required fields is 400",
		// Its refusals are text, and so are those of the middleware, without headers.
		"7 a 400 has an Error body",
		"7 a 401 has an Error body",
		"7 errors are application/json",
		"8.2 every response carries X-RateLimit-Limit",
		"8.2 every response carries X-RateLimit-Remaining",
		"8.2 every response carries X-RateLimit-Reset",
	)
}

const key = "key-of-a-generated-server"

// start starts a program that ends with the test, and returns the first line that it prints.
func start(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	_, err = cmd.StdinPipe() // the servers in testdata run until it ends
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// assertFails runs the conformance suite against a service, and compares the clauses that fail. It
// runs as everybody can run it, since Run reports to a testing.T.
func assertFails(t *testing.T, baseURL string, want ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-C", "..", "-count=1", "-json", "-run", "^TestService$",
		"./fake/conformance", "-petstore.url="+baseURL, "-petstore.key="+key)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if _, failed := err.(*exec.ExitError); !failed { //nolint:errorlint // Output returns it as it is
		require.NoError(t, err)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		var event struct{ Action, Test, Output string }
		require.NoError(t, json.Unmarshal([]byte(line), &event))
		_, clause, ok := strings.Cut(event.Test, "/")
		if ok && event.Action == "fail" {
			got = append(got, strings.ReplaceAll(clause, "_", " "))
		}
	}
	assert.ElementsMatch(t, want, got)
}

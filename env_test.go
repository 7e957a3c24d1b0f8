package petstore_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/testkit"
)

func TestNewClientFromEnv(t *testing.T) {
	const base, lan = "BASE_URL=https://service.test/v1 ", "BASE_URL=http://lan/v1 "
	const key, noKey = "API_KEY=hush ", "no%20key "
	var texts strings.Builder
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key"), []byte("  hush\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "wrong"), []byte(noKey), 0o600))
	for _, variables := range []string{
		base + key, base + "API_KEY_FILE=key", lan + key + "INSECURE_HTTP=1", lan + key + "INSECURE_HTTP=0", lan + key,
		key, base, base + key + "API_KEY_FILE=key", base + "API_KEY_FILE=/nowhere/" + noKey, base + "API_KEY=" + noKey,
		base + "API_KEY_FILE=wrong", base + key + "INSECURE_HTTP=yes", base + key + "PROCESSES=0",
	} {
		t.Run(variables, func(t *testing.T) {
			t.Chdir(dir)
			for _, name := range []string{"BASE_URL", "API_KEY", "API_KEY_FILE", "INSECURE_HTTP", "PROCESSES"} {
				_, value, _ := strings.Cut(" "+variables, " "+name+"=")
				value, _, _ = strings.Cut(value, " ")
				t.Setenv("PETSTORE_"+name, value)
			}
			client, err := petstore.NewClientFromEnv()
			fmt.Fprintf(&texts, "%s\n\t%v %v\n", variables, client, err)
			assert.Equal(t, err != nil, errors.Is(err, petstore.ErrInvalidArgument))
		})
	}
	testkit.AssertGolden(t, "testdata/env.txt", texts.String())
	t.Setenv("PETSTORE_BASE_URL", "http://lan/v1")
	own := petstore.WithAPIKeyFunc(petstore.APIKeyFile("key"))
	_, err := petstore.NewClientFromEnv(own, petstore.WithInsecureHTTP())
	require.NoError(t, err, "options need no variables of the environment")
	t.Setenv("PETSTORE_BASE_URL", "https://service.test/v1")
	for _, name := range []string{"PETSTORE_API_KEY_FILE", "PETSTORE_API_KEY"} {
		t.Setenv("PETSTORE_API_KEY_FILE", "")
		t.Setenv(name, testKey)
		_, err = petstore.NewClientFromEnv(own)
		require.ErrorContains(t, err, name+": is set although WithAPIKeyFunc is used")
	}
	t.Setenv("PETSTORE_PROCESSES", "4")
	client, err := petstore.NewClientFromEnv(refusesBy(os.ErrClosed))
	require.NoError(t, err)
	require.ErrorIs(t, list(client), os.ErrClosed, "an option overrides the variable")
	var log strings.Builder
	client, err = petstore.NewClientFromEnv(petstore.WithMaxWait(0), petstore.WithLogger(logTo(&log, slog.LevelWarn)),
		petstore.WithHTTPClient(&http.Client{Transport: status(429, "", "Retry-After: 60")}))
	require.NoError(t, err)
	require.ErrorIs(t, list(client), petstore.ErrRateLimited)
	assert.Contains(t, log.String(), "processes=4")
}

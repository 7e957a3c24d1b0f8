package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "some.json")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func shown(s settings) string {
	return fmt.Sprintf("%+v", map[string]any{ // a map: fmt calls no String method of unexported fields
		"host": s.host, "port": s.port, "keys": s.keys, "plan": s.plan, "minute": s.minute, "ban": s.ban,
		"clock": s.clock, "pets": s.pets, "faults": s.faults, "behavior": s.behavior, "random": s.random,
		"strict": s.strict, "log": s.log, "public": s.public, "names": s.names, "health": s.health, "version": s.version,
	})
}

// TestReadSettings checks which values are read. Other tests check their effect.
func TestReadSettings(t *testing.T) {
	tested := make(map[string]bool)
	for _, c := range []struct{ flag, value, want string }{
		{"addr", "LOCALHOST.:0", "host:LOCALHOST."},
		{"key", `[{"key":"a-key"},{"key":"b-key"}]`, "keys:[{Key:a-key Plan:<nil>} {Key:b-key Plan:<nil>}]"},
		{"key", "YWtleQ==", "keys:[{Key:YWtleQ== Plan:<nil>}]"},
		{"minute", "2s", "minute:2s"},
		{"clock", "2030-12-05T00:00:00+01:00", "clock:2030-12-05 00:00:00 +0100"},
		{"seed", "18446744073709551615", "random:18446744073709551615"},
		{"strict", "true", "strict:true"},
		{"healthcheck", "true", "health:true"},
		{"plan", "@" + writeFile(t, "perMinute=7,perDay=0\n"), "plan:enterprise:7,0"},
		{"pets", writeFile(t, ` [{"name": "Rex", "categoryId": 7}] `), "pets:[{Name:Rex CategoryID:7 Status:}]"},
		{"fault", "status=503,retryAfter=5", "faults:[fault with status 503]"},
		{"ban", "after=5,for=10m", "ban:{After:5 For:10m0s}"},
		{"variant", "order=shuffled", "behavior:order=shuffled"},
		{"log", "text", "log:text"},
		{"public", "Fake.test,other", "names:[fake.test other]"},
		{"version", "true", "version:true"},
	} {
		tested[c.flag] = true
		s, err := readSettings([]string{"-" + c.flag + "=" + c.value}, envOf(nil))
		require.NoError(t, err, c.flag)
		assert.Contains(t, shown(s), c.want, c.flag)
		s, err = readSettings(nil, envOf(map[string]string{variable(c.flag): c.value}))
		require.NoError(t, err, c.flag)
		isAction := c.flag == "healthcheck" || c.flag == "version"
		assert.Equal(t, !isAction, strings.Contains(shown(s), c.want), c.flag)
	}
	new(settings).flags().VisitAll(func(f *flag.Flag) {
		assert.True(t, tested[f.Name], "-%s has no test", f.Name)
		assert.Contains(t, help, "\n  -"+f.Name)
	})
	s, err := readSettings([]string{"-fault", "status=500", "-fault", "status=502"}, envOf(map[string]string{
		"PETSTORE_FAKE_FAULT": "wire=reset", "PETSTORE_FAKE_LOG": "",
		"PETSTORE_FAKE_PORT": "tcp://10.0.0.1:4010", // Kubernetes sets it for a service named petstore-fake
	}))
	require.NoError(t, err)
	assert.Contains(t, shown(s), "faults:[fault with status 500 fault with status 502]", "flags win")
	assert.Contains(t, shown(s), "keys:[{Key:fake-api-key Plan:<nil>}]")
}

func TestReadSettings_wrong(t *testing.T) {
	for _, c := range []struct{ flag, value, reason string }{
		{"addr", "127.0.0.1", "missing port"},
		{"key", "a key", "the key "},
		{"minute", "1500ms", "whole number of seconds"},
		{"minute", "2h", "1s to 1h"},
		{"clock", "tomorrow", "parse"},
		{"pets", writeFile(t, "[\n  {\"name\": oops}\n]"), "it is not JSON"},
		{"fault", "status=x", "status: it must be of the type integer"},
		{"fault", "@no-such-file", "no-such-file"},
		{"ban", "after=0,for=1m", "above 0"},
		{"variant", "order=none", "order"},
		{"log", "xml", "text or json"},
		{"public", "Off", "not true, false, or host names"}, // as a host name, Off would make the fake public
	} {
		_, err := readSettings([]string{"-" + c.flag + "=" + c.value}, envOf(nil))
		assert.ErrorContains(t, err, "-"+c.flag)
		assert.ErrorContains(t, err, c.reason)
		_, err = readSettings(nil, envOf(map[string]string{variable(c.flag): c.value}))
		assert.ErrorContains(t, err, c.reason)
		assert.Regexp(t, "-"+c.flag+"|for "+variable(c.flag), err)
	}
	_, err := readSettings([]string{"-addr", "0.0.0.0:1", "-public=false"}, envOf(nil))
	assert.ErrorContains(t, err, "0.0.0.0:1 is not a loopback address")
}

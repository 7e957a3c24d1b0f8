package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pets.json")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// shown returns the settings as a text. Other tests show what a fake does with its options.
func shown(s settings) string {
	var keys strings.Builder
	for _, k := range s.keys {
		fmt.Fprintf(&keys, "%s %s,", k.Key, k.Plan)
	}
	srv := fake.NewServer(s.fakeOptions()...)
	defer srv.Close()
	for _, i := range srv.Injections() {
		keys.WriteString(" " + spec.FormatFault(i.Fault()))
	}
	return fmt.Sprint(s.addr(), " ", keys.String(), " plan ", s.plan, srv.Pets(), " options ", len(s.fake),
		" strict ", s.strict, " log ", s.log, " public ", s.public, s.names, " health ", s.health, " version ", s.version)
}

func TestReadSettings(t *testing.T) {
	s, err := readSettings(nil, noEnv)
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1:4010 fake-api-key business, plan business [] options 0 strict false log  public false [127.0.0.1]"+
		" health false version false", shown(s))
	seed := writeFile(t, ` [ {"name": "Rex", "categoryId": 9223372036854775807},
		{"name": "Mimi", "categoryId": 0, "status": "sold"} ] `)
	tested := make(map[string]bool)
	for _, c := range []struct{ option, value, want string }{
		{"addr", "[::1]:0", "[::1]:0 "},
		{"addr", "localhost:80", "localhost:80 "},
		{"key", "another-key", " another-key business, "},
		{"key", "a-key=free b-key== c-key=enterprise:5,0", " a-key free,b-key== business,c-key enterprise:5,0, "},
		{"minute", "2s", "options 1"},
		{"clock", "2030-12-05T00:00:00+01:00", "options 1"},
		{"random-seed", "18446744073709551615", "options 1"},
		{"strict", "true", "strict true"},
		{"healthcheck", "true", "health true"},
		{"plan", "Pro", "plan pro"},
		{"plan", "enterprise:7,0", "plan enterprise:7,0"},
		{"seed", seed, "[{1 Rex 9223372036854775807 } {2 Mimi 0 sold}]"},
		{"fault", "status=503", "status=503"},
		{"ban", "5,10m", "options 1"},
		{"variant", "order=shuffled", "options 1"},
		{"log", "text", "log text"},
		{"log", "json", "log json"},
		{"public", "true", "public true [127"},
		{"public", "Fake.test,other", "public true [fake.test other 127"},
		{"version", "true", "version true"},
	} {
		tested[c.option] = true
		variable := option{name: c.option}.env()
		s, err := readSettings([]string{"-" + c.option + "=" + c.value}, noEnv)
		require.NoError(t, err, c.option)
		assert.Contains(t, shown(s), c.want, c.option)
		s, err = readSettings(nil, envOf(map[string]string{variable: c.value}))
		require.NoError(t, err, variable)
		assert.Contains(t, shown(s), c.want, variable)
	}
	for _, o := range new(settings).options() {
		assert.True(t, tested[o.name], "-%s has no test", o.name)
	}
}

func TestReadSettings_prefersFlags(t *testing.T) {
	env := envOf(map[string]string{
		"PETSTORE_FAKE_PLAN":  "pro",
		"PETSTORE_FAKE_LOG":   "",
		"PETSTORE_FAKE_FAULT": "wire=reset",
		// What an orchestrator sets for a service of this name.
		"PETSTORE_FAKE_PORT": "tcp://10.0.0.1:4010",
	})
	s, err := readSettings([]string{"-plan", "free", "-fault", "status=500", "-fault", "status=502"}, env)
	require.NoError(t, err)
	assert.Equal(t, fake.PlanFree, s.plan)
	assert.Empty(t, s.log)
	assert.Contains(t, shown(s), "free, status=500 status=502 plan free")
}

func TestReadSettings_wrong(t *testing.T) {
	for _, c := range []struct{ option, value, reason string }{
		{"addr", "4010", "not HOST:PORT"},
		{"addr", "127.0.0.1:65536", "not HOST:PORT"},
		{"addr", "a host:1", "a host name or an IP address"},
		{"key", " ", "key is empty"},
		{"key", "secret-key=gold", "KEY=PLAN"},
		{"key", "secret-key-\x01", "bearer token"},
		{"minute", "0s", "whole number of seconds"},
		{"minute", "1500ms", "whole number of seconds"},
		{"minute", "2h", "1s to 1h"},
		{"clock", "today", "2030-12-05T00:00:00Z"},
		{"random-seed", "-1", "whole number"},
		{"strict", "very", "not true or false"},
		{"plan", "no-such-plan", spec.PlanNames},
		{"seed", "no-such-file.json", "no-such-file.json"},
		{"seed", writeFile(t, ""), "pets.json: it is not JSON: unexpected EOF, at byte 0"},
		{"seed", writeFile(t, "[\n  {\"name\": oops}\n]"), "pets.json: it is not JSON: "},
		{"seed", writeFile(t, " null"), "a JSON array of them"},
		{"seed", writeFile(t, `[{"name":"a","categoryId":1,"name":"b"}]`), "duplicate"},
		{"fault", "key=secret-key,status=x", "status"},
		{"fault", `key="secret-key`, "key"},
		{"fault", "key=secret-key,key=secret-key", "twice"},
		{"fault", `{"key":"secret-key"`, "not JSON"},
		{"ban", "5", "AFTER,DURATION"},
		{"ban", "0,1m", "AFTER"},
		{"ban", "5,0s", "DURATION"},
		{"variant", "colour=red", "retry-after"},
		{"log", "xml", "text or json"},
		{"public", "http://fake.test", "not a host name"},
	} {
		variable := option{name: c.option}.env()
		_, err := readSettings([]string{"-" + c.option + "=" + c.value}, noEnv)
		assert.ErrorContains(t, err, "-"+c.option+": ")
		_, fromEnv := readSettings(nil, envOf(map[string]string{variable: c.value}))
		assert.ErrorContains(t, fromEnv, variable+": ")
		for _, err := range []error{err, fromEnv} {
			assert.ErrorContains(t, err, c.reason)
			assert.NotContains(t, err.Error(), "secret-key")
			assert.NotContains(t, err.Error(), "\n")
		}
	}
}

func TestReadSettings_loopback(t *testing.T) {
	for addr, loopback := range map[string]bool{
		"127.9.9.9:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true, "LOCALHOST.:1": true, "fake.localhost:1": true,
		":4010": false, "0.0.0.0:1": false, "[::]:1": false, "192.0.2.1:1": false, "localhost.test:1": false,
	} {
		_, err := readSettings([]string{"-addr", addr, "-public=false"}, noEnv)
		assert.Equal(t, loopback, err == nil, "%s: %v", addr, err)
		_, err = readSettings([]string{"-addr", addr, "-public"}, noEnv)
		assert.NoError(t, err, addr)
	}
}

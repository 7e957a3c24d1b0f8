package main

import (
	"fmt"
	"os"
	"path/filepath"
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

// shown returns the settings as a text. Other tests show what a fake does with them.
func shown(s settings) string {
	keys := ""
	for _, k := range s.keys {
		keys += fmt.Sprint(k.Key, " ", s.planOf(k), ",")
	}
	return keys + fmt.Sprintf("host:%s port:%d plan:%v minute:%v ban:%+v clock:%v pets:%+v faults:%v behavior:%v random:%d strict:%v log:%s"+
		" public:%v names:%v health:%v version:%v", s.host, s.port, s.plan, s.minute, s.ban, s.clock, s.pets, s.faults, s.behavior,
		s.random, s.strict, s.log, s.public, s.names, s.health, s.version)
}

func TestReadSettings(t *testing.T) {
	tested := make(map[string]bool)
	for _, c := range []struct{ option, value, want string }{
		{"addr", "[::1]:0", "host:::1 port:0 "},
		{"addr", "localhost:80", "host:localhost port:80 "},
		{"key", "another-key", "another-key business,"},
		{"key", `["a-key",{"key":"b-key","plan":"free"}]`, "a-key business,b-key free,"},
		{"key", "key=a-key==,plan=pro", "a-key== pro,"},
		{"minute", "2s", "minute:2s"},
		{"clock", "2030-12-05T00:00:00+01:00", "clock:2030-12-05 00:00:00 +0100"},
		{"random-seed", "18446744073709551615", "random:18446744073709551615"},
		{"strict", "true", "strict:true"},
		{"healthcheck", "true", "health:true"},
		{"plan", "pro", "plan:pro"},
		{"plan", `perMinute=7,perDay=0`, "plan:enterprise:7,0"},
		{"plan", "@" + writeFile(t, `{"perMinute":8}`), "plan:enterprise:8,0"},
		{"seed", writeFile(t, ` [ {"name": "Rex", "categoryId": 9223372036854775807} ] `), "pets:[{Name:Rex CategoryID:9223372036854775807 Status:}]"},
		{"fault", "status=503,retryAfter=5", "faults:[fault with status 503]"},
		{"fault", `[{"status":503},{"wire":"reset"}]`, "faults:[fault with status 503 fault by reset]"},
		{"fault", "@" + writeFile(t, "status=503,times=3\n"), "faults:[fault with status 503]"},
		{"ban", "after=5,for=10m", "ban:{After:5 For:10m0s}"},
		{"variant", "order=shuffled", "behavior:order=shuffled"},
		{"log", "text", "log:text"},
		{"public", "true", "public:true names:[]"},
		{"public", "Fake.test,other", "public:true names:[fake.test other]"},
		{"version", "true", "version:true"},
	} {
		tested[c.option] = true
		s, err := readSettings([]string{"-" + c.option + "=" + c.value}, envOf(nil))
		require.NoError(t, err, c.option)
		assert.Contains(t, shown(s), c.want, c.option)
		s, err = readSettings(nil, envOf(map[string]string{option{name: c.option}.env(): c.value}))
		require.NoError(t, err, c.option)
		assert.Contains(t, shown(s), c.want, c.option)
	}
	for _, o := range new(settings).options() {
		assert.True(t, tested[o.name], "-%s has no test", o.name)
		assert.Contains(t, help, "\n  -"+o.name)
	}
	s, err := readSettings([]string{"-plan", "free", "-fault", "status=500", "-fault", "status=502"}, envOf(map[string]string{
		"PETSTORE_FAKE_PLAN": "pro", "PETSTORE_FAKE_LOG": "", "PETSTORE_FAKE_FAULT": "wire=reset",
		"PETSTORE_FAKE_PORT": "tcp://10.0.0.1:4010", // what an orchestrator sets for a service of this name
	}))
	require.NoError(t, err)
	assert.Contains(t, shown(s), "fake-api-key free,", "flags win")
	assert.Contains(t, shown(s), "faults:[fault with status 500 fault with status 502]")
}

func TestReadSettings_wrong(t *testing.T) {
	for _, c := range []struct{ option, value, reason string }{
		{"addr", "4010", "not HOST:PORT"},
		{"addr", "127.0.0.1:65536", "not HOST:PORT"},
		{"addr", "a host:1", "a host name or an IP address"},
		{"key", "a key", "the key "},
		{"key", "key=some-key,plan=gold", "plan: there is no plan"},
		{"minute", "1500ms", "whole number of seconds"},
		{"minute", "2h", "1s to 1h"},
		{"minute", "soon", "invalid duration"},
		{"clock", "today", "parsing time"},
		{"clock", "2300-01-01T00:00:00Z", "1970 to 2291"},
		{"random-seed", "-1", "-1"},
		{"strict", "very", `"very" is not of the type bool`},
		{"plan", "no-such-plan", "business, free, pro"},
		{"seed", "no-such-file.json", "no-such-file.json"},
		{"seed", writeFile(t, "[\n  {\"name\": oops}\n]"), "it is not JSON"},
		{"seed", writeFile(t, `[{"name":"a","category":1}]`), "category"},
		{"fault", "status=x", `status: "x" is not of the type int`},
		{"fault", `status=503,colour=red`, `there is no field "colour"`},
		{"fault", "@no-such-file", "no-such-file"},
		{"ban", "5", "not of the type"},
		{"ban", "after=0,for=1m", "above 0"},
		{"variant", "order=none", "order"},
		{"log", "xml", "text or json"},
		{"public", "http://fake.test", "not a host name"},
	} {
		_, err := readSettings([]string{"-" + c.option + "=" + c.value}, envOf(nil))
		assert.ErrorContains(t, err, "-"+c.option)
		assert.ErrorContains(t, err, c.reason)
		_, err = readSettings(nil, envOf(map[string]string{option{name: c.option}.env(): c.value}))
		assert.ErrorContains(t, err, c.reason)
	}
}

func TestReadSettings_loopback(t *testing.T) {
	for addr, loopback := range map[string]bool{
		"127.9.9.9:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true, "LOCALHOST.:1": true, "fake.localhost:1": true,
		":4010": false, "0.0.0.0:1": false, "[::]:1": false, "192.0.2.1:1": false, "localhost.test:1": false,
	} {
		_, err := readSettings([]string{"-addr", addr, "-public=false"}, envOf(nil))
		assert.Equal(t, loopback, err == nil, "%s: %v", addr, err)
		_, err = readSettings([]string{"-addr", addr, "-public"}, envOf(nil))
		assert.NoError(t, err, addr)
	}
}

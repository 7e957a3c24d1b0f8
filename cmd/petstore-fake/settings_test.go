package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pets.json")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// keysOf returns the keys with their plans.
func keysOf(s settings) any {
	var b strings.Builder
	for _, k := range s.keys {
		fmt.Fprintf(&b, "%s %s ", k.Key, k.Plan)
	}
	return b.String()
}

// settingsCase is a good value of an option, with what it comes to.
type settingsCase struct {
	option, value string
	got           func(settings) any
	want          any
}

// settingsCases has a case of every option.
func settingsCases(t *testing.T) []settingsCase {
	t.Helper()
	seed := writeFile(t, `[{"name":"Rex","categoryId":1}]`)
	others := func(s settings) any { return len(s.others) } // what a fake does with them, other tests show
	return []settingsCase{
		{"addr", "[::1]:0", func(s settings) any { return s.addr }, address{host: "::1"}},
		{"addr", "localhost:80", func(s settings) any { return s.addr }, address{"localhost", 80}},
		{"key", "another-key", keysOf, "another-key business "},
		{"key", "a-key=free b-key== c-key=enterprise:5,0", keysOf, "a-key free b-key== business c-key enterprise:5,0 "},
		{"minute", "2s", others, 1},
		{"clock", "2030-12-05T00:00:00+01:00", others, 1},
		{"random-seed", "18446744073709551615", others, 1},
		{"strict", "true", func(s settings) any { return s.strict }, true},
		{"healthcheck", "true", func(s settings) any { return s.health }, true},
		{"plan", "Pro", func(s settings) any { return s.plan }, fake.PlanPro},
		{"plan", "enterprise:7,0", func(s settings) any { return s.plan }, fake.Enterprise(7, 0)},
		{"seed", seed, func(s settings) any { return s.pets }, []petstore.NewPet{{Name: "Rex", CategoryID: 1}}},
		{"fault", "status=503", func(s settings) any { return s.faults }, []fake.Fault{{Status: 503}}},
		{"ban", "5,10m", others, 1},
		{"variant", "order=shuffled", others, 1},
		{"log", "text", func(s settings) any { return s.log }, "text"},
		{"log", "json", func(s settings) any { return s.log }, "json"},
		{"public", "true", func(s settings) any { return s.public }, true},
		{"public", "Fake.test,other", func(s settings) any { return s.names[:2] }, []string{"fake.test", "other"}},
		{"version", "true", func(s settings) any { return s.version }, true},
	}
}

func TestReadSettings(t *testing.T) {
	t.Parallel()
	t.Run("without flags", func(t *testing.T) {
		t.Parallel()
		s, err := readSettings(nil, noEnv)
		require.NoError(t, err)
		assert.Equal(t, address{"127.0.0.1", 4010}, s.addr)
		assert.Equal(t, []spec.Key{{Key: fake.DefaultAPIKey, Plan: &fake.PlanBusiness}}, s.keys)
		assert.False(t, s.public)
		assert.Empty(t, s.log)
	})
	t.Run("from flags and from variables", func(t *testing.T) {
		t.Parallel()
		tested := make(map[string]bool)
		for _, c := range settingsCases(t) {
			tested[c.option] = true
			t.Run("-"+c.option+"="+c.value, func(t *testing.T) {
				s, err := readSettings([]string{"-" + c.option + "=" + c.value}, noEnv)
				require.NoError(t, err)
				assert.Equal(t, c.want, c.got(s))

				variable := option{name: c.option}.env()
				s, err = readSettings(nil, envOf(map[string]string{variable: c.value}))
				require.NoError(t, err, variable)
				assert.Equal(t, c.want, c.got(s), variable)
			})
		}
		for _, o := range new(settings).options() {
			assert.True(t, tested[o.name], "-%s has no test", o.name)
		}
	})
	t.Run("prefers flags to variables", func(t *testing.T) {
		t.Parallel()
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
		assert.Equal(t, []fake.Fault{{Status: 500}, {Status: 502}}, s.faults)
	})
	t.Run("refuses wrong values with the reason", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct{ option, value, reason string }{
			{"addr", "4010", "not HOST:PORT"},
			{"addr", "127.0.0.1:65536", "not a number"},
			{"addr", "a host:1", "neither an IP address nor a host name"},
			{"key", " ", "key is empty"},
			{"key", "a-key=gold", "KEY=PLAN"},
			{"minute", "0s", "whole number of seconds"},
			{"minute", "1500ms", "whole number of seconds"},
			{"minute", "2h", "1s to 1h"},
			{"minute", "soon", "not a duration"},
			{"clock", "today", "2030-12-05T00:00:00Z"},
			{"clock", "1960-01-01T00:00:00Z", "1970"},
			{"random-seed", "-1", "whole number"},
			{"strict", "very", "neither true nor false"},
			{"key", "schlüssel", "bearer token"},
			{"plan", "no-such-plan", fakecontrol.PlanNames()},
			{"seed", "no-such-file.json", "no-such-file.json"},
			{"fault", "statsu=503", "statsu"},
			{"ban", "5", "AFTER,DURATION"},
			{"ban", "0,1m", "AFTER"},
			{"ban", "5,0s", "DURATION"},
			{"ban", "5,soon", "DURATION"},
			{"variant", "colour=red", "retry-after"},
			{"log", "xml", "text or json"},
			{"public", "http://fake.test", "not a host name"},
		} {
			t.Run("-"+c.option+"="+c.value, func(t *testing.T) {
				_, err := readSettings([]string{"-" + c.option + "=" + c.value}, noEnv)
				require.Error(t, err, "-%s=%s", c.option, c.value)
				assert.Contains(t, err.Error(), "-"+c.option+": ")
				assert.Contains(t, err.Error(), c.reason)
				assert.NotContains(t, err.Error(), "\n")

				variable := option{name: c.option}.env()
				_, err = readSettings(nil, envOf(map[string]string{variable: c.value}))
				require.Error(t, err, variable)
				assert.Contains(t, err.Error(), variable+": ")
				assert.Contains(t, err.Error(), c.reason)
			})
		}
	})
	t.Run("hides keys in errors", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]string{
			{"-key", "secret-key-\x00"},
			{"-key", "secret-key=gold"},
			{"-fault", "key=secret-key,status=x"},
			{"-fault", `key="secret-key"x`},
			{"-fault", `key="secret-key`},
			{"-fault", "key=secret-key,key=secret-key"},
			{"-fault", `{"key":"secret-key","status":"x"}`},
			{"-fault", `{"key":"secret-key"`},
		} {
			_, err := readSettings(args, noEnv)
			require.Error(t, err, "%q", args)
			assert.NotContains(t, err.Error(), "secret-key")
		}
	})
	t.Run("refuses addresses that are not loopback", func(t *testing.T) {
		t.Parallel()
		for addr, loopback := range map[string]bool{
			"127.0.0.1:1":          true,
			"127.9.9.9:1":          true,
			"[::1]:1":              true,
			"[::ffff:127.0.0.1]:1": true,
			"localhost:1":          true,
			"LOCALHOST.:1":         true,
			"fake.localhost:1":     true,
			":4010":                false,
			"0.0.0.0:1":            false,
			"[::]:1":               false,
			"192.0.2.1:1":          false,
			"localhost.test:1":     false,
			"fake.test:1":          false,
		} {
			t.Run(addr, func(t *testing.T) {
				_, err := readSettings([]string{"-addr", addr}, noEnv)
				if loopback {
					assert.NoError(t, err, addr)
					return
				}
				if assert.Error(t, err, addr) {
					assert.Contains(t, err.Error(), "-public")
				}
				_, err = readSettings([]string{"-addr", addr, "-public"}, noEnv)
				assert.NoError(t, err, addr)
			})
		}
		_, err := readSettings([]string{"-addr", ":4010", "-public=false"}, noEnv)
		assert.Error(t, err)
	})
}

func TestReadSeed(t *testing.T) {
	t.Parallel()
	t.Run("reads pets", func(t *testing.T) {
		t.Parallel()
		pets, err := readSeed(writeFile(t, `
		[ {"name": "Rex", "categoryId": 9223372036854775807},
		  {"name": "Mimi", "categoryId": 0, "status": "sold"} ]
	`))
		require.NoError(t, err)
		assert.Equal(t, []petstore.NewPet{
			{Name: "Rex", CategoryID: 9223372036854775807},
			{Name: "Mimi", Status: petstore.PetStatusSold},
		}, pets)
		pets, err = readSeed(writeFile(t, "[]"))
		require.NoError(t, err)
		assert.Empty(t, pets)
	})
	t.Run("refuses bad files with the reason", func(t *testing.T) {
		t.Parallel()
		for text, reason := range map[string]string{
			"":                         "it is not JSON: unexpected EOF, at byte 0",
			"[\n  {\"name\": oops}\n]": "it is not JSON: ",
			"[] []":                    "it is not JSON: ",
			"\n {}":                    "must be a JSON array",
			" null":                    "must be a JSON array",
			`[{"name":"a","categoryId":1},{"name":"b"}]`:   "pet 2 of the array: the required field categoryId is missing",
			`[{"name":"a","categoryId":1,"name":"b"}]`:     "duplicate",
			`[{"name":"","categoryId":1}]`:                 "name is empty",
			`[{"name":"a","categoryId":1,"colour":"red"}]`: `no field "colour"`,
			`[ null]`: "null",
		} {
			name := writeFile(t, text)
			_, err := readSeed(name)
			if assert.Error(t, err, text) {
				assert.True(t, strings.HasPrefix(err.Error(), name+": "), "%v", err)
				assert.Contains(t, err.Error(), reason)
				assert.NotContains(t, err.Error(), "\n")
			}
		}
	})
}

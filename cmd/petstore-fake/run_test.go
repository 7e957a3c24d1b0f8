package main

import (
	"context"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/loopback"
)

// runOnce runs the program to its end.
func runOnce(t *testing.T, env map[string]string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	status = run(t.Context(), args, envOf(env), &out, &errs)
	return status, out.String(), errs.String()
}

// running is a program that runs inside the test.
type running struct {
	host           string
	stdout, stderr string  // when it had announced itself
	output         *output // stderr
	stop           func() int
}

// start starts the program on a free port, and waits until it has announced itself.
func start(t *testing.T, args ...string) running {
	t.Helper()
	args = append(args, "-addr", loopback.Host(t)+":0")
	ctx, cancel := context.WithCancel(t.Context())
	stdout, stderr := newOutput(), newOutput()
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, args, noEnv, stdout, stderr) }()
	r := running{output: stderr, stop: sync.OnceValue(func() int {
		cancel()
		return <-ended
	})}
	t.Cleanup(func() { r.stop() })
	select {
	case r.stdout = <-stdout.wrote:
	case status := <-ended:
		ended <- status
		require.FailNow(t, "it has ended", "%d: %s", status, stderr)
	}
	r.host, r.stderr = loopback.Host(t)+":"+strings.TrimSpace(r.stdout), <-stderr.wrote
	return r
}

// curlArguments returns what a shell gives to curl in a line.
func curlArguments(t *testing.T, line string) []string {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no POSIX shell")
	}
	out, err := exec.CommandContext(t.Context(), shell, "-c", `curl() { printf '%s\n' "$@"; }; `+line).Output()
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func TestRun(t *testing.T) {
	t.Parallel()
	t.Run("prints version and help", func(t *testing.T) {
		t.Parallel()
		status, stdout, stderr := runOnce(t, nil, "-version")
		assert.Zero(t, status)
		assert.Equal(t, "petstore-fake "+petstore.Version+"\n", stdout)
		assert.Empty(t, stderr)
		for _, flag := range []string{"-h", "-help", "--help"} {
			status, stdout, stderr = runOnce(t, nil, flag)
			assert.Zero(t, status)
			assert.Empty(t, stderr)
			assert.Regexp(t, "^Petstore-fake is the Pet Store Service", stdout)
			assert.Contains(t, stdout, "\n  -addr HOST:PORT ")
			assert.NotContains(t, stdout, "//\t")
			assert.NotContains(t, stdout, "package main")
		}
	})
	t.Run("exits with 2 and one clear line", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			args []string
			env  map[string]string
			want string
		}{
			{[]string{"-nope"}, nil, "flag provided but not defined: -nope"},
			{[]string{"-addr"}, nil, "flag needs an argument: -addr"},
			{[]string{"pets.json"}, nil, `unexpected argument "pets.json"`},
			{[]string{"-log", "text", "json"}, nil, `unexpected argument "json"`},
			{[]string{"-plan", "no-such-plan"}, nil, `-plan: there is no plan "no-such-plan"`},
			{[]string{"-addr", "0.0.0.0:4010"}, nil, "not a loopback address"},
			{nil, map[string]string{"PETSTORE_FAKE_PLAN": "no-such-plan"}, `PETSTORE_FAKE_PLAN: there is no plan "no-such-plan"`},
			{nil, map[string]string{"PETSTORE_FAKE_ADDR": ":4010"}, "not a loopback address"},
			{nil, map[string]string{"PETSTORE_FAKE_VERSION": "0.1.0"}, "PETSTORE_FAKE_VERSION: "},
		} {
			t.Run(c.want, func(t *testing.T) {
				status, stdout, stderr := runOnce(t, c.env, c.args...)
				assert.Equal(t, 2, status, "%q", c.args)
				assert.Empty(t, stdout)
				lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
				if assert.Len(t, lines, 2, stderr) {
					assert.True(t, strings.HasPrefix(lines[0], "petstore-fake: "), stderr)
					assert.Contains(t, lines[0], c.want)
					assert.Equal(t, "petstore-fake -help lists the flags.", lines[1])
				}
			})
		}
	})
	t.Run("exits with 1 if the address is in use", func(t *testing.T) {
		t.Parallel()
		l := loopback.Listen(t)
		t.Cleanup(func() { assert.NoError(t, l.Close()) })
		status, stdout, stderr := runOnce(t, nil, "-addr", l.Addr().String())
		assert.Equal(t, 1, status)
		assert.Empty(t, stdout)
		assert.Equal(t, 1, strings.Count(stderr, "\n"))
		assert.Contains(t, stderr, l.Addr().String())
		if runtime.GOOS != "windows" {
			assert.Contains(t, stderr, "in use")
		}
	})
	t.Run("exits with 1 if the address is another machine's", func(t *testing.T) {
		t.Parallel()
		loopback.Need(t) // a sandbox without a network may let a program listen anywhere
		status, _, stderr := runOnce(t, nil, "-addr", "192.0.2.1:4010", "-public")
		assert.Equal(t, 1, status)
		assert.Contains(t, stderr, "cannot listen on 192.0.2.1:4010")
	})
	t.Run("prints only the port if it is 0", func(t *testing.T) {
		t.Parallel()
		r := start(t)
		assert.Regexp(t, `^\d+\n$`, r.stdout)
		assert.Contains(t, r.stderr, "http://"+r.host+"/v1\n")
		status, body, err := get(t, keepingClient(t), r.host)
		require.NoError(t, err)
		assert.Equal(t, 200, status)
		assert.Equal(t, "[]", body)
		assert.Equal(t, 0, r.stop())
	})
}

func TestBanner(t *testing.T) {
	t.Parallel()
	s, err := readSettings([]string{"-key", "a-key==", "-plan", "enterprise:5,100"}, noEnv)
	require.NoError(t, err)
	text := banner(s, "http://127.0.0.1:4010")
	assert.Contains(t, text, "http://"+"127.0.0.1:4010"+"/v1\n")
	assert.Contains(t, text, "a-key== (plan enterprise:5,100)\n")
	for _, route := range []string{"GET  /v1/pets ", "POST /v1/pets ", "GET  /v1/pets/{petId} ", "GET  /_fake/ "} {
		assert.Contains(t, text, route)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	assert.Equal(t, []string{"-H", "Authorization: Bearer a-key==", "http://" + "127.0.0.1:4010" + "/v1/pets"},
		curlArguments(t, lines[len(lines)-1]))
}

func TestAnnounce(t *testing.T) {
	t.Parallel()
	var stdout, stderr strings.Builder
	s, err := readSettings(nil, noEnv)
	require.NoError(t, err)
	announce(s, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4010}, &stdout, &stderr)
	assert.Equal(t, banner(s, "http://127.0.0.1:4010"), stdout.String())
	assert.Empty(t, stderr.String())
}

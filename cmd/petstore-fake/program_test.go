package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/fake/conformance"
	"github.com/petstore/petstore-go/internal/testkit"
)

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
	args = append(args, "-addr", testkit.Loopback(t)+":0")
	ctx, cancel := context.WithCancel(t.Context())
	stdout, stderr := newOutput(), newOutput()
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, args, envOf(nil), stdout, stderr) }()
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
	r.host, r.stderr = testkit.Loopback(t)+":"+strings.TrimSpace(r.stdout), <-stderr.wrote
	return r
}

func keepingClient(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// call sends a request with the default key over a connection of its own, and reads the whole
// response.
func call(t *testing.T, host, method, path, body string) (status int, text string, err error) {
	t.Helper()
	r := request(t, method, "http://"+host+path, body)
	r.RequestURI, r.Host = "", host // as a client must have it
	r.Header.Set("Authorization", "Bearer "+fake.DefaultAPIKey)
	resp, err := keepingClient(t).Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all), err
}

func TestRun(t *testing.T) {
	t.Run("prints version and help", func(t *testing.T) {
		status, stdout, stderr := runOnce(t, nil, "-version")
		assert.Zero(t, status)
		assert.Equal(t, "petstore-fake "+petstore.Version+"\n", stdout)
		assert.Empty(t, stderr)
		for _, flag := range []string{"-h", "-help", "--help"} {
			status, stdout, stderr = runOnce(t, nil, flag)
			assert.Zero(t, status)
			assert.Empty(t, stderr)
			assert.Regexp(t, "^petstore-fake is the Pet Store Service", stdout)
			assert.Contains(t, stdout, "\n  -addr HOST:PORT ")
		}
	})
	t.Run("exits with 2 and one clear line", func(t *testing.T) {
		for want, args := range map[string][]string{
			"flag provided but not defined: -nope":   {"-nope"},
			"flag needs an argument: -addr":          {"-addr"},
			`unexpected argument "pets.json"`:        {"pets.json"},
			`unexpected argument "json"`:             {"-log", "text", "json"},
			`-plan: there is no plan "no-such-plan"`: {"-plan", "no-such-plan"},
			"give it by -addr":                       {"-healthcheck", "-addr", "127.0.0.1:0"},
			"add -public if that is meant":           {"-healthcheck", "-addr", "192.0.2.1:1"},
			`PETSTORE_FAKE_MINUTE: `:                 nil,
		} {
			status, stdout, stderr := runOnce(t, map[string]string{"PETSTORE_FAKE_MINUTE": "soon"}, args...)
			assert.Equal(t, exitUsage, status, "%q", args)
			assert.Empty(t, stdout)
			lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
			if assert.Len(t, lines, 2, stderr) {
				assert.True(t, strings.HasPrefix(lines[0], "petstore-fake: "), stderr)
				assert.Contains(t, lines[0], want)
				assert.Equal(t, "petstore-fake -help lists the flags.", lines[1])
			}
		}
	})
	t.Run("exits with 1 without its port, or without a program to check", func(t *testing.T) {
		nobody, other := testkit.Listen(t), testkit.Listen(t)
		require.NoError(t, nobody.Close())
		hs := newServer(http.NotFoundHandler(), io.Discard)
		go func() { _ = hs.Serve(other) }()
		t.Cleanup(func() { assert.NoError(t, hs.Close()) })
		inUse := "in use"
		if runtime.GOOS == "windows" {
			inUse = other.Addr().String()
		}
		for want, args := range map[string][]string{
			inUse:                             {"-addr", other.Addr().String()},
			"cannot listen on 192.0.2.1:4010": {"-addr", "192.0.2.1:4010", "-public"},
			"no response from " + nobody.Addr().String(): {"-healthcheck", "-addr", nobody.Addr().String()},
			"responds with status 404":                   {"-healthcheck", "-addr", other.Addr().String()},
		} {
			status, stdout, stderr := runOnce(t, nil, args...)
			assert.Equal(t, exitFailed, status, want)
			assert.Empty(t, stdout)
			assert.Equal(t, 1, strings.Count(stderr, "\n"))
			assert.Contains(t, stderr, want)
		}
	})
	t.Run("prints only the port if it is 0, and is healthy whatever the service does", func(t *testing.T) {
		r := start(t, "-fault", "status=500,operation=getPet,times=-1", "-fault", "delay=1h,operation=createPet")
		assert.Regexp(t, `^\d+\n$`, r.stdout)
		assert.Contains(t, r.stderr, "http://"+r.host+"/v1\n")
		status, body, err := call(t, r.host, "GET", "/v1/pets", "")
		require.NoError(t, err)
		assert.Equal(t, 200, status)
		assert.Equal(t, "[]", body)
		status, stdout, stderr := runOnce(t, map[string]string{
			"PETSTORE_FAKE_ADDR": r.host, "PETSTORE_FAKE_SEED": "no-such-file.json", // a health check must not read it
		}, "-healthcheck")
		assert.Equal(t, exitOK, status)
		assert.Empty(t, stdout+stderr)
		assert.Equal(t, exitOK, r.stop())
	})
}

// stalled sends so many requests on connections of their own, which get no response, and returns
// where their errors arrive.
func stalled(t *testing.T, host string, requests int) <-chan error {
	t.Helper()
	ended := make(chan error, requests)
	for range requests {
		go func() {
			_, _, err := call(t, host, "GET", "/v1/pets", "")
			ended <- err
		}()
	}
	// The requests are there when their faults have struck.
	require.Eventually(t, func() bool {
		_, text, err := call(t, host, "GET", "/_fake/requests", "")
		assert.NoError(t, err)
		return strings.Count(text, `"seq":`) == requests
	}, time.Minute, 5*time.Millisecond)
	return ended
}

func TestServe_end(t *testing.T) {
	t.Run("after it has conformed to the service document", func(t *testing.T) {
		r := start(t)
		conformance.Run(t, conformance.Target{
			BaseURL: "http://" + r.host + "/v1", APIKey: "fake-api-key", HTTPClient: keepingClient(t),
		})
		assert.Equal(t, exitOK, r.stop())
	})
	t.Run("with open requests, and with -strict without violations", func(t *testing.T) {
		r := start(t, "-strict", "-fault", "wire=stall", "-fault", "delay=1h")
		ended, signal := stalled(t, r.host, 2), time.Now()
		assert.Equal(t, exitOK, r.stop())
		took := time.Since(signal)
		assert.GreaterOrEqual(t, took, 5*time.Second, "they may end by themselves")
		assert.Less(t, took, 10*time.Second, "then docker stop would kill it")
		assert.Error(t, <-ended)
		assert.Error(t, <-ended)
	})
}

func TestServe_stopped(t *testing.T) {
	i, l := newTestInstance(t), testkit.Listen(t)
	require.NoError(t, l.Close())
	assert.ErrorContains(t, i.serve(t.Context(), l, newServer(i, io.Discard)), "the server stopped")
}

func TestStrict(t *testing.T) {
	r := start(t, "-strict")
	_, _, err := call(t, r.host, "POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
	require.NoError(t, err)
	_, _, err = call(t, r.host, "GET", "/v1/pets/1", "")
	require.NoError(t, err)
	assert.Equal(t, exitFailed, r.stop())
	assert.Contains(t, r.output.String(), "violation of deprecated-operation by request 2 (section 4.3): ")
	assert.Contains(t, r.output.String(), "-strict: violations by the clients: 1")
}

// raw sends bytes on a connection of its own and returns the status line of the response.
func raw(t *testing.T, host, text string) string {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", host)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, _ = io.WriteString(conn, text) // the server may refuse it before the end
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

func TestServer(t *testing.T) {
	host := start(t).host
	for text, want := range map[string]string{
		"GET /_fake/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                                                 "HTTP/1.1 200 OK",
		"GET http://evil.test/_fake/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                                 "HTTP/1.1 403 Forbidden",
		"GET /%5Ffake/ HTTP/1.1\r\nHost: evil.test\r\n\r\n":                                                                  "HTTP/1.1 403 Forbidden",
		"GET /_fake/ HTTP/1.0\r\n\r\n":                                                                                       "HTTP/1.0 403 Forbidden",
		"OPTIONS * HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                                                   "HTTP/1.1 404 Not Found",
		"GET / HTTP/2.0\r\n\r\n":                                                                                             "HTTP/1.1 505 HTTP Version Not Supported: unsupported protocol version",
		fmt.Sprintf("GET / HTTP/1.1\r\nHost: %s\r\nX: %s\r\n\r\n", host, strings.Repeat("x", 128<<10)):                       "HTTP/1.1 431 Request Header Fields Too Large",
		"POST /_fake/clock HTTP/1.1\r\nHost: " + host + "\r\nTransfer-Encoding: chunked\r\n\r\na\r\nadvance=1s\r\n0\r\n\r\n": "HTTP/1.1 200 OK",
	} {
		assert.Equal(t, want, raw(t, host, text), "%.80q", text)
	}
	assert.Positive(t, newServer(nil, io.Discard).ReadHeaderTimeout)
	assert.Positive(t, newServer(nil, io.Discard).IdleTimeout)
}

func TestAnnounce(t *testing.T) {
	s, err := readSettings([]string{"-key", "key=a-key==", "-plan", "perMinute=5,perDay=100"}, envOf(nil))
	require.NoError(t, err)
	var stdout, stderr strings.Builder
	announce(s, &net.TCPAddr{IP: net.IPv4zero, Port: 4010}, &stdout, &stderr)
	assert.Empty(t, stderr.String())
	for _, part := range []string{
		"http://127.0.0.1:4010/v1\n", "a-key== (plan enterprise:5,100)\n", "http://127.0.0.1:4010/_fake/ in a browser",
		"\n  curl -H 'Authorization: Bearer a-key==' http://127.0.0.1:4010/v1/pets\n",
	} {
		assert.Contains(t, stdout.String(), part)
	}
	for host, want := range map[string]string{
		"": "127.0.0.1:99", "::": "127.0.0.1:99", "::1": "[::1]:99", "localhost": "localhost:99", "192.0.2.1": "192.0.2.1:99",
	} {
		assert.Equal(t, want, localHost(host, 99), host)
	}
}

package petstore_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

// echoes are the places of a response in which a service may repeat a key.
var echoes = []string{
	"%s\r\n\r\n", "HTTP/1.1 %s\r\n\r\n", "HTTP/1.1 401 %s\r\n\r\n", "HTTP/1.1 200 OK\r\n%s\r\n\r\n",
	"HTTP/1.1 400 No\r\n%s: x\r\n\r\n", "HTTP/1.1 503 No\r\nX-Echo: %s\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n", "HTTP/1.1 302 OK\r\nLocation: ://%s\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n\r\n[]", "HTTP/1.1 200 OK\r\nContent-Type: text/%s\r\n\r\n[]",
	"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n%s", "HTTP/1.1 429 No\r\nRetry-After: %s\r\n\r\n%[1]s",
	"HTTP/1.1 404 No\r\nContent-Length: 5000\r\n\r\n%s", "HTTP/1.1 500 No\r\n\r\n<html>%s",
	`{"code":"%s","message":"no"}`, `{"code":"no","message":"no key %s, %[1]s"}`, `{"code":{"%s":1}}`,
	`[{"%s":1}]`, `[{"%s":1,"%[1]s":2}]`, `[{"a":{"%s":{"b":{]}}}}]`, `[{"%s":tru}]`, `{"id":"%s"}`, `{"id":%s}`,
	`["%s]`, `[]%s`, `%s`, `{"id":1,"name":"Rex","categoryId":"%s"}`, `{"id":1,"name":"x","%s":{"%[1]s":[0,"}}`,
}

// written are the ways in which a service may write a character.
var written = []func(string) string{
	strings.Clone, url.QueryEscape, url.PathEscape, html.EscapeString, strings.NewReplacer("/", `\/`).Replace,
	strings.NewReplacer("~", "~0", "/", "~1").Replace,
	func(s string) string { return each(s, `\u%04x`) }, func(s string) string { return each(s, "%%%02x") },
	func(s string) string { return each(s, "&#%d;") }, func(s string) string { return each(s, "&#x%X;") },
}

func each(s, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

// FuzzEcho draws a key, a place in a response and two escapes. No 8 characters of the key are in the
// error and the log of a call.
func FuzzEcho(f *testing.F) {
	count, err := strconv.ParseUint(cmp.Or(os.Getenv("PETSTORE_KEYS"), "200"), 10, 64)
	require.NoError(f, err)
	for seed := range count {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		const alphabet = "BCDGHJKLMNOPQSUVWXYZghjklmnopqrstuvwxyz0123456789-._~+/"
		key := make([]byte, 8+rng.IntN(492))
		for i := range key {
			key[i] = alphabet[rng.IntN(len(alphabet))]
		}
		echo := written[rng.IntN(len(written))](written[rng.IntN(len(written))](string(key)))
		response := fmt.Sprintf(echoes[int(seed)%len(echoes)], echo)
		if !strings.Contains(response, "\r\n") {
			head := []string{"200 OK", "201 Created", "400 No", "500 No", "429 No"}[rng.IntN(5)]
			response = "HTTP/1.1 " + head + "\r\nContent-Type: application/json\r\n\r\n" + strings.Repeat(" ", rng.IntN(5000)) + response
		}
		checkEcho(t, string(key), response)
	})
}

// checkEcho makes calls whose response is as given.
func checkEcho(t *testing.T, key, response string) {
	t.Helper()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	client, err := petstore.NewClient("http://127.0.0.1/v1", key, petstore.WithLimiter(nil), petstore.WithLogger(logger),
		petstore.WithHTTPClient(&http.Client{Transport: replaying([]byte(response))}), petstore.WithMaxWait(0),
		petstore.WithMaxResponseBytes(6000), petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
	require.NoError(t, err)
	for _, err := range []error{list(client), create(client), get(client)} {
		if err == nil {
			continue
		}
		logger.Error("failed", "error", err)
		text := fmt.Sprintf("%v %+[1]v %#[1]v %s", err, log.String())
		if e, ok := errors.AsType[*petstore.APIError](err); ok {
			text += fmt.Sprintf(" %s %s %s %v", e.Code, e.Message, e.Body, e.Header)
		}
		if e, ok := errors.AsType[*petstore.ResponseError](err); ok {
			text += fmt.Sprintf(" %s %v", e.Body, e.Header)
		}
		folded := strings.ToLower(text)
		for i := range len(key) - 7 {
			if strings.Contains(folded, strings.ToLower(key[i:i+8])) {
				assert.Failf(t, "a part of the key is in an error or a log", "%q of %s: %s", key[i:i+8], key, text)
				return
			}
		}
	}
}

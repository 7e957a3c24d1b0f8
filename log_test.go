package petstore_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
}

// logTo returns a logger that writes to text, with a constant call_id. text must not be read before
// all calls have ended.
func logTo(text *bytes.Buffer, level slog.Level, handler func(w *bytes.Buffer, o *slog.HandlerOptions) slog.Handler) *slog.Logger {
	return slog.New(handler(text, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "call_id" {
			return slog.String("call_id", "id")
		}
		return a
	}}))
}

func asText(w *bytes.Buffer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) }

func asJSON(w *bytes.Buffer, o *slog.HandlerOptions) slog.Handler { return slog.NewJSONHandler(w, o) }

func TestWithLogger(t *testing.T) {
	t.Run("logs the lines of its table, and neither key nor body", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var text bytes.Buffer
			client, _ := scripted(t, []responder{
				status(429, testKey, "Retry-After: 60"), fails(errRefused), success("createPet"), status(200, onePet),
			}, petstore.WithLogger(logTo(&text, slog.LevelDebug, asText)),
				petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1, MaxDelay: 1}))
			_, err := client.CreatePet(t.Context(), newPet())
			require.NoError(t, err)
			require.NoError(t, get(client))
			golden(t, "log.txt", text.String())
			assert.NotContains(t, text.String(), testKey)
			assert.NotContains(t, text.String(), "Rex")
		})
	})
	t.Run("logs one line when a ban of ten hours begins, and one when it is over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := fake.NewTestServer(t)
			var text bytes.Buffer
			client := server.Client(petstore.WithLogger(logTo(&text, slog.LevelInfo, asText)))
			server.BanKey(server.APIKey(), 10*time.Hour)
			for range 6 {
				require.ErrorIs(t, list(client), petstore.ErrRateLimited)
			}
			assert.Equal(t, 1, strings.Count(text.String(), "\n"), text.String())
			assert.Contains(t, text.String(), `level=WARN msg="petstore: rate limit closed" operation=listPets`)
			assert.Contains(t, text.String(), "until=2000-01-01T10:00:0")
			time.Sleep(10*time.Hour + time.Minute)
			require.NoError(t, list(client))
			require.NoError(t, list(client))
			assert.Equal(t, 2, strings.Count(text.String(), "\n"), text.String())
			assert.Contains(t, text.String(), `level=INFO msg="petstore: rate limit open again"`)
		})
	})
	t.Run("logs nothing at Info about 300 calls in a queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(150, 0)))
			var text bytes.Buffer
			client := server.Client(petstore.WithLogger(logTo(&text, slog.LevelInfo, asText)))
			var all sync.WaitGroup
			for range 300 {
				all.Go(func() { assert.NoError(t, list(client)) })
			}
			all.Wait()
			assert.Empty(t, text.String())
		})
	})
	t.Run("warns once about a deprecated operation", func(t *testing.T) {
		var text bytes.Buffer
		client, _ := scripted(t, []responder{status(200, onePet), status(200, onePet)},
			petstore.WithLogger(logTo(&text, slog.LevelInfo, asText)))
		require.NoError(t, get(client))
		require.NoError(t, get(client))
		assert.Equal(t, 1, strings.Count(text.String(), "deprecated operation"))
		assert.Contains(t, text.String(), "removal=2030-12-05")
	})
}

// TestErrorGoldenFiles has each error of the README's table as a text and as an attribute of a log.
func TestErrorGoldenFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var texts strings.Builder
		var text, json bytes.Buffer
		loggers := []*slog.Logger{logTo(&text, slog.LevelInfo, asText), logTo(&json, slog.LevelInfo, asJSON)}
		record := func(name string, err error) {
			require.Error(t, err, name)
			line := regexp.MustCompile(`0x[0-9a-f]+`).ReplaceAllString(err.Error(), "0x…")
			texts.WriteString(name + "\n\t" + line + "\n")
			for _, l := range loggers {
				l.Error("failed", "case", name, "err", err)
			}
			assert.NotContains(t, err.Error(), testKey)
		}
		limits := quota(60, 0, time.Minute)
		unavailable := func(c *petstore.Client) error {
			_, err := c.ListPets(t.Context(), petstore.ListPetsParams{}, petstore.WithMaxWait(time.Second))
			return err
		}
		for _, row := range []struct {
			name    string
			respond responder
			call    func(*petstore.Client) error
		}{
			{"400", status(400, `{"code":"invalid_request","message":"name is missing","status":400}`), create},
			{"401", status(401, `{"code":"unauthorized","message":"unknown key","status":401}`), list},
			{"404", status(404, `{"code":"not_found","message":"no such pet","status":404}`), get},
			{"429", status(429, `{"code":"rate_limited","message":"60 a minute","status":429}`, append(limits, "Retry-After: 3600")...), list},
			{"503 of a read", status(503, "", "Retry-After: 3600"), unavailable},
			{"503 of a create", status(503, ""), create},
			{"303 of a create", status(303, "", "Location: /v1/pets/1"), create},
			{"501", status(501, ""), create},
			{"202 of a create", status(202, ""), create},
			{"not JSON", status(200, "<html>"), list},
			{"body cut off, of a create", cutOff(201, errReset), create},
			{"reset of a create", fails(errReset), create},
			{"connection refused", fails(errRefused), create},
		} {
			client, _ := scripted(t, []responder{row.respond}, petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 2, BaseDelay: 1, MaxDelay: 1}))
			record(row.name, row.call(client))
		}
		client, _ := scripted(t, []responder{hangs}, petstore.WithCallTimeout(5*time.Second))
		record("WithCallTimeout", create(client))
		client, _ = scripted(t, []responder{hangs})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.CreatePet(ctx, newPet())
		record("the caller's deadline", err)
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 101})
		record("an argument", err)
		_, err = petstore.NewClient(" https://service.test/v1", testKey)
		record("white space around the base URL", err)
		golden(t, "errors.txt", texts.String())
		golden(t, "errors.log", text.String())
		golden(t, "errors.json", json.String())
	})
}

func TestNewClientFromEnvErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte("two words"), 0o600))
	for name, c := range map[string]struct{ base, key, file, insecure, want string }{
		"base URL":   {base: "http://service.test/v1", key: testKey, want: "PETSTORE_BASE_URL: is plain http"},
		"blank":      {base: "https://service.test/v1 ", key: testKey, want: "PETSTORE_BASE_URL: has white space around it"},
		"key":        {base: "https://service.test/v1", key: "two words", want: "PETSTORE_API_KEY: has a character"},
		"key's file": {base: "https://service.test/v1", file: file, want: "PETSTORE_API_KEY_FILE: has a character"},
		"insecure":   {base: "http://service.test/v1", key: testKey, insecure: "yes", want: "PETSTORE_INSECURE_HTTP: is neither 0 nor 1"},
		"allowed":    {base: "http://service.test/v1", key: testKey, insecure: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PETSTORE_BASE_URL", c.base)
			t.Setenv("PETSTORE_API_KEY", c.key)
			t.Setenv("PETSTORE_API_KEY_FILE", c.file)
			t.Setenv("PETSTORE_INSECURE_HTTP", c.insecure)
			_, err := petstore.NewClientFromEnv()
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, petstore.ErrInvalidArgument)
			assert.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "two words")
		})
	}
}

func TestWithAPIKeyFuncAfter401(t *testing.T) {
	for name, c := range map[string]struct {
		keys      []string
		responses []responder
		sent      int
		attempts  int
		fails     bool
	}{
		"another key":                  {[]string{"old-key", "new-key"}, []responder{status(401, ""), status(201, onePet)}, 2, 2, false},
		"the same key":                 {[]string{"old-key", "old-key"}, []responder{status(401, "")}, 1, 1, true},
		"another key, refused as well": {[]string{"old-key", "new-key"}, []responder{status(401, ""), status(401, "")}, 2, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			var refused []bool
			service := &service{responders: c.responses}
			client, err := petstore.NewClient("https://service.test/v1", "", petstore.WithAPIKeyFunc(
				func(ctx context.Context) (string, error) {
					call, _ := petstore.CallFromContext(ctx)
					refused = append(refused, call.KeyRefused)
					return c.keys[len(refused)-1], nil
				}), petstore.WithHTTPClient(&http.Client{Transport: service}))
			require.NoError(t, err)
			result, err := client.CreatePet(t.Context(), newPet())
			assert.Len(t, service.sent(), c.sent)
			assert.Equal(t, []bool{false, true}, refused)
			if !c.fails {
				require.NoError(t, err)
				assert.Equal(t, c.attempts, result.Attempts)
				return
			}
			require.ErrorIs(t, err, petstore.ErrUnauthorized)
			require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
			e, _ := errors.AsType[*petstore.APIError](err)
			assert.Equal(t, c.attempts, e.Attempts)
		})
	}
	client, service := scripted(t, []responder{status(401, "")})
	require.ErrorIs(t, list(client), petstore.ErrUnauthorized)
	assert.Len(t, service.sent(), 1, "a fixed key is not tried again")
}

func TestWithRawBody(t *testing.T) {
	const body = `{"id":7,"name":"Rex","categoryId":3,"tag":"good"}`
	client, _ := scripted(t, []responder{status(200, body), status(200, body)})
	result, err := client.GetPet(t.Context(), 7, petstore.WithRawBody())
	require.NoError(t, err)
	assert.JSONEq(t, body, string(result.RawBody))
	result, err = client.GetPet(t.Context(), 7)
	require.NoError(t, err)
	assert.Nil(t, result.RawBody)
}

func TestResponseDeprecation(t *testing.T) {
	client, _ := scripted(t, []responder{
		status(200, onePet, "Deprecation: @1764547200", "Sunset: Thu, 05 Dec 2030 00:00:00 GMT", `Link: <https://x.test>; rel="sunset"`),
		status(200, onePet, "Deprecation: soon"),
	})
	result, err := client.GetPet(t.Context(), 7)
	require.NoError(t, err)
	d, ok := result.Deprecation()
	assert.True(t, ok)
	assert.Equal(t, petstore.Deprecation{
		At: time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC), Sunset: time.Date(2030, 12, 5, 0, 0, 0, 0, time.UTC),
		Link: `<https://x.test>; rel="sunset"`,
	}, d)
	result, err = client.GetPet(t.Context(), 7)
	require.NoError(t, err)
	_, ok = result.Deprecation()
	assert.False(t, ok)
}

package petstore_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"reflect"
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
	"github.com/petstore/petstore-go/fake/faketest"
	"github.com/petstore/petstore-go/internal/golden"
)

// logTo returns a logger that writes to text, with a constant call_id and key_id, and times in UTC
// wherever the test runs. text must not be read before all calls have ended.
func logTo(text io.Writer, level slog.Level, handler func(w io.Writer, o *slog.HandlerOptions) slog.Handler) *slog.Logger {
	return slog.New(handler(text, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "call_id" || a.Key == "key_id" {
			return slog.String(a.Key, "id")
		}
		if a.Value.Kind() == slog.KindTime {
			return slog.Time(a.Key, a.Value.Time().UTC())
		}
		return a
	}}))
}

func asText(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) }

func asJSON(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewJSONHandler(w, o) }

func TestWithLogger(t *testing.T) {
	virtual(t, "logs the lines of its table, and neither key nor body", func(t *testing.T) {
		var text bytes.Buffer
		client, _ := scripted(t, []responder{
			status(429, testKey, "Retry-After: 60"), fails(errRefused), success("createPet"), status(200, onePet),
		}, petstore.WithLogger(logTo(&text, slog.LevelDebug, asText)),
			petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1, MaxDelay: 1}))
		require.NoError(t, create(client))
		require.NoError(t, get(client))
		golden.Assert(t, "testdata/log.txt", text.String())
		assert.NotContains(t, text.String(), testKey)
		assert.NotContains(t, text.String(), "Rex")
	})
	t.Run("has each field of an attempt, unless there is a reason", func(t *testing.T) {
		leftOut := map[string]string{"Call": "has attributes of its own", "Sent": "the line about an unknown outcome says what follows"}
		synctest.Test(t, func(t *testing.T) {
			var text bytes.Buffer
			client, _ := scripted(t, []responder{
				status(429, "", append(quota(10, 0, 0), "Retry-After: 3")...), fails(errReset), status(200, "[]"),
			}, petstore.WithLogger(logTo(&text, slog.LevelDebug, asText)))
			require.NoError(t, list(client))
			for field := range reflect.TypeFor[petstore.AttemptDoneInfo]().Fields() {
				if leftOut[field.Name] == "" {
					name := regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(strings.TrimSuffix(field.Name, "Code"), "${1}_$2")
					name = strings.Replace(strings.ToLower(name), "err", "error", 1)
					assert.Regexp(t, `"petstore: attempt" .* `+name+`[.=]`, text.String(), "attemptAttrs lacks %s", field.Name)
				}
			}
		})
	})
	virtual(t, "warns once, with the cure, when 429s show that other processes use the key", func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.PlanFree))
		var text bytes.Buffer
		client := server.Client(petstore.WithLogger(logTo(&text, slog.LevelInfo, asText)))
		for range 3 {
			server.Inject(fake.Fault{Status: 429, RetryAfter: "20", Header: http.Header{"X-Ratelimit-Remaining": {"0"}}})
			require.NoError(t, list(client))
		}
		assert.Equal(t, 1, strings.Count(text.String(), "other processes use the key"))
		assert.Contains(t, text.String(), "PETSTORE_PROCESSES")
	})
	virtual(t, "logs one line when a ban of ten hours begins, and one when it is over, and nothing is sent meanwhile", func(t *testing.T) {
		server := fake.NewTestServer(t)
		var text bytes.Buffer
		client := server.Client(petstore.WithLogger(logTo(&text, slog.LevelInfo, asText)))
		server.BanKey(server.APIKey(), 10*time.Hour)
		for range 6 {
			require.ErrorIs(t, list(client), petstore.ErrRateLimited)
		}
		assert.Len(t, server.Requests(), 1)
		assert.Equal(t, 1, strings.Count(text.String(), "\n"), text.String())
		assert.Contains(t, text.String(), `level=WARN msg="petstore: rate limit closed" operation=listPets`)
		assert.Contains(t, text.String(), "until=2000-01-01T10:00:0")
		time.Sleep(10*time.Hour + time.Minute)
		require.NoError(t, list(client))
		require.NoError(t, list(client))
		assert.Equal(t, 2, strings.Count(text.String(), "\n"), text.String())
		assert.Contains(t, text.String(), `level=INFO msg="petstore: rate limit open again"`)
	})
	t.Run("logs one line when the day ends under 64 goroutines, and one when the next begins", func(t *testing.T) {
		for _, headers := range []bool{true, false} { // of the day
			synctest.Test(t, func(t *testing.T) {
				perMinute := 100
				if !headers {
					perMinute = 50 // the headers show the minute, which has less left
				}
				server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(perMinute, 300)), fake.WithLatency(100*time.Millisecond))
				var text bytes.Buffer
				client := server.Client(petstore.WithLogger(logTo(&text, slog.LevelInfo, asText)))
				var all sync.WaitGroup
				for range 64 {
					all.Go(func() {
						for range 60 {
							_ = list(client)
							time.Sleep(10 * time.Second)
						}
					})
				}
				all.Wait()
				assert.Equal(t, 1, strings.Count(text.String(), "petstore: rate limit"), text.String())
				assert.Contains(t, text.String(), "rate limit closed")
				time.Sleep(24 * time.Hour)
				for range 64 {
					all.Go(func() { assert.NoError(t, list(client)) })
				}
				all.Wait()
				assert.Equal(t, 2, strings.Count(text.String(), "petstore: rate limit"), text.String())
				assert.Contains(t, text.String(), "open again")
			})
		}
	})
	t.Run("logs a ban in the lockout of a minute", func(t *testing.T) {
		faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
			var text bytes.Buffer
			client := server.Client(petstore.WithLogger(logTo(&text, slog.LevelInfo, asText)))
			server.Inject(fake.Fault{Status: 429, RetryAfter: "20"})
			server.Inject(fake.Fault{Status: 429, RetryAfter: "7200"})
			require.ErrorIs(t, list(client), petstore.ErrRateLimited)
			require.ErrorIs(t, list(client), petstore.ErrRateLimited)
			time.Sleep(3 * time.Hour)
			require.NoError(t, list(client))
			assert.Equal(t, []string{"minute", "ban", "ban"}, scopes(text.String()))
		})
	})
	virtual(t, "logs one line when a key that was closed early is open again", func(t *testing.T) {
		server := fake.NewTestServer(t, fake.WithPlan(fake.Enterprise(60, 5)))
		var text bytes.Buffer
		client := server.Client(petstore.WithLogger(logTo(&text, slog.LevelInfo, asText)))
		for range 6 {
			_ = list(client)
		}
		server.SetPlan(server.APIKey(), fake.Enterprise(60, 500))
		client.ReopenLimit()
		require.NoError(t, list(client))
		require.NoError(t, list(client))
		assert.Equal(t, 2, strings.Count(text.String(), "\n"), text.String())
	})
	virtual(t, "logs nothing at Info about 300 calls in a queue", func(t *testing.T) {
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
	t.Run("warns about each create whose outcome is unknown, and about no other failure", func(t *testing.T) {
		var text bytes.Buffer
		client, _ := scripted(t, []responder{
			status(503, testKey), status(400, ""), status(501, ""), cutOff(201, errReset),
		}, petstore.WithLogger(logTo(&text, slog.LevelInfo, asText)))
		for range 4 {
			require.Error(t, create(client))
		}
		assert.Equal(t, 2, strings.Count(text.String(), "\n"), text.String())
		assert.Equal(t, 2, strings.Count(text.String(), `level=WARN msg="petstore: outcome unknown" operation=createPet call_id=id`))
		assert.Contains(t, text.String(), "503")
		assert.NotContains(t, text.String(), testKey)
		assert.NotContains(t, text.String(), "Rex")
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

// scopes returns those of the lines of a log.
func scopes(log string) (all []string) {
	for _, match := range regexp.MustCompile(`scope=(\w+)`).FindAllStringSubmatch(log, -1) {
		all = append(all, match[1])
	}
	return all
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
		for _, row := range []struct {
			name    string
			respond responder
			call    func(*petstore.Client, ...petstore.CallOption) error
		}{
			{"400", status(400, `{"code":"invalid_request","message":"name is missing","status":400}`), create},
			{"401", status(401, `{"code":"unauthorized","message":"unknown key","status":401}`), list},
			{"404", status(404, `{"code":"not_found","message":"no such pet","status":404}`), get},
			{"429", status(429, `{"code":"rate_limited","message":"60 a minute","status":429}`, append(limits, "Retry-After: 3600")...), list},
			{"503 of a read", status(503, "", "Retry-After: 3600"), list},
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
		golden.Assert(t, "testdata/errors.txt", texts.String())
		golden.Assert(t, "testdata/errors.log", text.String())
		golden.Assert(t, "testdata/errors.json", json.String())
	})
}

package petstore_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
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
			status(429, testKey, "Retry-After: 60"), fails(errRefused), status(201, onePet), status(200, onePet),
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
}

// logLine finds the level, the message and the scope of a line of a log.
var logLine = regexp.MustCompile(`level=(\w+) msg="petstore: ([^"]+)"(?:.* scope=(\w+))?`)

func TestLogLines(t *testing.T) {
	calls := func(client *petstore.Client, goroutines, each int, pause time.Duration) (succeeded int64) {
		var all sync.WaitGroup
		var good atomic.Int64
		for range goroutines {
			all.Go(func() {
				for range each {
					if list(client) == nil {
						good.Add(1)
					}
					time.Sleep(pause)
				}
			})
		}
		all.Wait()
		return good.Load()
	}
	twoDays := func(t *testing.T, server *fake.Server, client *petstore.Client) {
		server.SetLatency(100 * time.Millisecond)
		assert.EqualValues(t, 300, calls(client, 64, 60, 10*time.Second))
		time.Sleep(24 * time.Hour)
		assert.EqualValues(t, 64, calls(client, 64, 1, 0))
	}
	for name, c := range map[string]struct {
		plan fake.Plan
		runs func(t *testing.T, server *fake.Server, client *petstore.Client)
		want []string
	}{
		"429s that show that other processes use the key": {fake.PlanFree, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			for range 3 {
				server.Inject(fake.Fault{Status: 429, RetryAfter: "20", Header: http.Header{"X-Ratelimit-Remaining": {"0"}}})
				require.NoError(t, list(client))
			}
		}, []string{"WARN rate limit closed minute", "INFO rate limit open again minute", "WARN other processes use the key"}},
		"a ban, during which nothing is sent": {fake.PlanFree, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			server.BanKey(server.APIKey(), 10*time.Hour)
			for range 6 {
				require.ErrorIs(t, list(client), petstore.ErrRateLimited)
			}
			assert.Len(t, server.Requests(), 1)
			time.Sleep(10*time.Hour + time.Minute)
			assert.EqualValues(t, 2, calls(client, 1, 2, 0))
		}, []string{"WARN rate limit closed ban", "WARN other processes use the key", "INFO rate limit open again ban"}},
		"the end of a day, and the next": {
			fake.Plan{PerMinute: 100, PerDay: 300}, twoDays, []string{"WARN rate limit closed day", "INFO rate limit open again day"},
		},
		"the end of a day, while the headers show the minute": {
			fake.Plan{PerMinute: 50, PerDay: 300}, twoDays, []string{"WARN rate limit closed day", "INFO rate limit open again day"},
		},
		"a ban in the lockout of a minute": {fake.PlanFree, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			server.Inject(fake.Fault{Status: 429, RetryAfter: "20"})
			server.Inject(fake.Fault{Status: 429, RetryAfter: "7200"})
			assert.Zero(t, calls(client, 1, 2, 0))
			time.Sleep(3 * time.Hour)
			require.NoError(t, list(client))
		}, []string{"WARN rate limit closed minute", "WARN rate limit closed ban", "INFO rate limit open again ban"}},
		"a 429 that comes after the ban to which it belongs, and another": {fake.PlanFree, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			require.NoError(t, list(client))
			server.SetLatency(100 * time.Millisecond) // so that both are sent
			server.Inject(fake.Fault{Status: 429, RetryAfter: "7200"})
			server.Inject(fake.Fault{Status: 429, RetryAfter: "3600", Delay: 3 * time.Second})
			time.AfterFunc(time.Second, func() { client.ReopenLimit(); assert.NoError(t, list(client)) })
			assert.Zero(t, calls(client, 2, 1, 0))
			client.ReopenLimit()
			require.NoError(t, list(client))
			server.Inject(fake.Fault{Status: 429, RetryAfter: "1800"})
			assert.Error(t, list(client))
		}, []string{"WARN rate limit closed ban", "INFO rate limit open again ban", "WARN rate limit closed ban", "INFO rate limit open again ban", "WARN rate limit closed ban"}},
		"a success that was sent before the ban": {fake.PlanFree, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			require.NoError(t, list(client))
			server.SetLatency(100 * time.Millisecond) // so that both are sent
			server.Inject(fake.Fault{Status: 429, RetryAfter: "7200"})
			server.Inject(fake.Fault{Delay: 3 * time.Second})
			assert.EqualValues(t, 1, calls(client, 2, 1, 0))
		}, []string{"WARN rate limit closed ban"}},
		"a ban that another client met, and an early end": {fake.PlanFree, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			other, err := client.ForKey(server.APIKey())
			require.NoError(t, err)
			server.Inject(fake.Fault{Status: 429, RetryAfter: "7200"})
			require.Error(t, list(other))
			require.Error(t, list(client))
			client.ReopenLimit()
			require.NoError(t, list(client))
		}, []string{"WARN rate limit closed ban", "INFO rate limit open again ban"}},
		"a key that was closed early": {fake.Plan{PerMinute: 60, PerDay: 5}, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			assert.EqualValues(t, 5, calls(client, 1, 6, 0))
			server.SetPlan(server.APIKey(), fake.Plan{PerMinute: 60, PerDay: 500})
			client.ReopenLimit()
			assert.EqualValues(t, 2, calls(client, 1, 2, 0))
		}, []string{"WARN rate limit closed day", "INFO rate limit open again day"}},
		"300 calls in a queue": {fake.Plan{PerMinute: 150}, func(t *testing.T, _ *fake.Server, client *petstore.Client) {
			assert.EqualValues(t, 300, calls(client, 300, 1, 0))
		}, nil},
		"a key that is refused until it works again": {fake.PlanFree, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			for range 2 {
				server.RevokeKey(server.APIKey())
				assert.Zero(t, calls(client, 1, 2, 0))
				server.AddKey(server.APIKey(), fake.PlanFree)
				require.NoError(t, list(client))
			}
		}, []string{"WARN key refused", "WARN key refused"}},
		"creates whose outcome is unknown": {fake.PlanFree, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			for _, f := range []fake.Fault{{Status: 503}, {Status: 400}, {Status: 501}, {Wire: fake.WireTruncate}} {
				server.Inject(f)
				require.Error(t, create(client))
			}
		}, []string{"WARN outcome unknown", "WARN outcome unknown"}},
		"an outage, which is over when no call has failed for a minute, and the next": {fake.PlanFree, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			for range 2 {
				fault := server.Inject(fake.Fault{Status: 503, Times: fake.Forever})
				assert.Zero(t, calls(client, 1, 6, 10*time.Second))
				fault.Remove()
				assert.EqualValues(t, 8, calls(client, 1, 8, 10*time.Second))
			}
		}, []string{"WARN calls fail", "INFO calls succeed again", "WARN calls fail", "INFO calls succeed again"}},
		"another kind of error in an outage": {fake.PlanFree, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			for _, f := range []fake.Fault{{Status: 503}, {Wire: fake.WireReset}, {Status: 503}} {
				f.Times = fake.Forever
				fault := server.Inject(f)
				assert.Zero(t, calls(client, 1, 6, time.Second))
				fault.Remove()
			}
		}, []string{"WARN calls fail", "WARN calls fail"}},
		"creates that fail among other calls": {fake.Plan{PerMinute: 1000}, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			server.Inject(fake.Fault{Status: 403, Operation: petstore.OpCreatePet, Times: fake.Forever})
			for range 5 {
				require.Error(t, create(client))
				assert.EqualValues(t, 25, calls(client, 1, 25, 0))
			}
		}, []string{"WARN calls fail"}},
		"one call in twenty that fails": {fake.Plan{PerMinute: 1000}, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			for range 20 {
				server.Inject(fake.Fault{Status: 403})
				assert.EqualValues(t, 19, calls(client, 1, 20, 100*time.Millisecond))
			}
		}, nil},
		"a wrong base URL, and pets that do not exist": {fake.PlanFree, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			for range 6 {
				_, err := client.GetPet(t.Context(), 99)
				require.ErrorIs(t, err, petstore.ErrNotFound)
			}
			server.Inject(fake.Fault{Status: 404, Times: fake.Forever})
			assert.Zero(t, calls(client, 1, 6, 0))
		}, []string{"WARN deprecated operation", "WARN calls fail"}},
		"callers that leave a slow service, and a stop of five calls": {fake.Plan{PerMinute: 1000}, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			require.NoError(t, list(client))
			server.SetLatency(25 * time.Second)
			leave := func(after time.Duration) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(after, cancel)
				var all sync.WaitGroup
				for range 5 {
					all.Go(func() { _, _ = client.ListPets(ctx, petstore.ListPetsParams{}) })
				}
				all.Wait()
			}
			leave(4 * time.Second)
			leave(10 * time.Second)
		}, []string{"WARN requests are slow", "WARN calls fail"}},
		"a deployment that stops calls which wait": {fake.PlanFree, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			ctx, stop := context.WithCancel(t.Context())
			stopping, err := client.ForKey(server.APIKey(), petstore.WithStop(ctx))
			require.NoError(t, err)
			time.AfterFunc(30*time.Second, stop)
			assert.EqualValues(t, 60, calls(stopping, 80, 1, 0))
		}, nil},
		"a plan that is lowered, and a 401": {fake.Plan{PerMinute: 300}, func(t *testing.T, server *fake.Server, client *petstore.Client) {
			require.NoError(t, list(client))
			server.Inject(fake.Fault{Status: 401, Header: http.Header{"X-Ratelimit-Limit": {"30"}}})
			require.Error(t, list(client))
			server.SetPlan(server.APIKey(), fake.Plan{PerMinute: 60})
			time.Sleep(time.Minute)
			assert.EqualValues(t, 5, calls(client, 1, 5, 0))
		}, []string{"WARN key refused", "WARN limit changed"}},
		"a deprecated operation": {fake.PlanFree, func(_ *testing.T, _ *fake.Server, client *petstore.Client) {
			_, _ = get(client), get(client)
		}, []string{"WARN deprecated operation"}},
	} {
		t.Run(name, func(t *testing.T) {
			faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
				var text bytes.Buffer
				c.runs(t, server, server.Client(petstore.WithLogger(logTo(&text, slog.LevelInfo, asText))))
				var lines []string
				for _, line := range logLine.FindAllStringSubmatch(text.String(), -1) {
					lines = append(lines, strings.TrimSpace(strings.Join(line[1:], " ")))
				}
				assert.Equal(t, c.want, lines, &text)
				assert.Equal(t, strings.Contains(text.String(), "other processes"), strings.Contains(text.String(), "PETSTORE_PROCESSES"))
				assert.NotContains(t, text.String(), "Rex")
			}, fake.WithPlan(c.plan))
		})
	}
}

// handler calls a function for each record.
type handler func(ctx context.Context, message string)

func (handler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (h handler) Handle(ctx context.Context, r slog.Record) error { h(ctx, r.Message); return nil }
func (h handler) WithAttrs([]slog.Attr) slog.Handler              { return h }
func (h handler) WithGroup(string) slog.Handler                   { return h }

// TestLogHandler has handlers that harm no call but that of their line. The service fails, recovers,
// and the day ends.
func TestLogHandler(t *testing.T) {
	for name, handle := range map[string]func(ctx context.Context, client *petstore.Client, end <-chan bool){
		"that makes calls": func(ctx context.Context, client *petstore.Client, _ <-chan bool) {
			_, _ = client.ListPets(ctx, petstore.ListPetsParams{}, petstore.WithMaxWait(0))
			_, _ = client.CreatePet(context.Background(), newPet(), petstore.WithMaxWait(0))
		},
		"that hangs":  func(_ context.Context, _ *petstore.Client, end <-chan bool) { <-end },
		"that panics": func(context.Context, *petstore.Client, <-chan bool) { panic("handler") },
	} {
		t.Run(name, func(t *testing.T) {
			faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
				var client *petstore.Client
				var lines, ended, succeeded atomic.Int64
				end := make(chan bool)
				client = server.Client(petstore.WithLogger(slog.New(handler(func(ctx context.Context, _ string) {
					lines.Add(1)
					handle(ctx, client, end)
				}))))
				try := func(call func(*petstore.Client, ...petstore.CallOption) error) {
					defer func() { _ = recover(); ended.Add(1) }()
					if call(client) == nil {
						succeeded.Add(1)
					}
				}
				server.Inject(fake.Fault{Status: 503, Times: fake.Forever, For: 3 * time.Minute})
				for range 30 {
					go try(list)
					go try(create)
					time.Sleep(10 * time.Second)
				}
				server.SetUsage(server.APIKey(), 0, 998)
				for range 5 {
					go try(get)
				}
				time.Sleep(2 * time.Minute)
				assert.GreaterOrEqual(t, lines.Load(), int64(10))
				assert.GreaterOrEqual(t, ended.Load()+lines.Load(), int64(65), "the others have ended")
				assert.Greater(t, succeeded.Load(), int64(18))
				close(end)
			}, fake.WithPlan(fake.Plan{PerMinute: 60, PerDay: 1000}))
		})
	}
}

// TestErrorType has the class of what fails, for the attempt and for its call.
func TestErrorType(t *testing.T) {
	for want, respond := range map[string]responder{
		"503": status(503, ""), "429": status(429, "", "Retry-After: 9999"), "/307": status(307, ""), "/invalid_response": status(202, ""),
		"connection_reset": fails(errReset), "connection_refused": fails(errRefused), "connection_closed": fails(io.EOF),
		"timeout":                            hangs,
		"name_resolution":                    fails(&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}),
		"certificate":                        fails(&tls.CertificateVerificationError{Err: errors.New("expired")}),
		"tls.AlertError":                     fails(&net.OpError{Op: "remote error", Err: tls.AlertError(40)}),
		"_OTHER":                             fails(errors.New("anything")),
		"connection_closed/invalid_response": cutOff(201, io.ErrUnexpectedEOF),
	} {
		virtual(t, want, func(t *testing.T) {
			var got []string
			client, _ := scripted(t, []responder{respond}, petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}), petstore.WithTrace(&petstore.ClientTrace{
				AttemptDone: func(_ context.Context, info petstore.AttemptDoneInfo) { got = append(got, info.ErrorType()) },
				CallDone:    func(_ context.Context, info petstore.CallDoneInfo) { got = append(got, info.ErrorType()) },
			}))
			require.Error(t, create(client))
			attempt, call, differ := strings.Cut(want, "/")
			if !differ {
				call = attempt
			}
			assert.Equal(t, []string{attempt, call}, got)
		})
	}
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
		assert.NotErrorIs(t, err, petstore.ErrTimeout)
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 101})
		record("an argument", err)
		_, err = petstore.NewClient(" https://service.test/v1", testKey)
		record("white space around the base URL", err)
		golden.Assert(t, "testdata/errors.txt", texts.String())
		golden.Assert(t, "testdata/errors.log", text.String())
		golden.Assert(t, "testdata/errors.json", json.String())
	})
}

package petstore_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"regexp"
	"slices"
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
	"github.com/petstore/petstore-go/internal/testkit"
)

// logTo returns a logger that writes to text, with a constant call_id and key_id, and times in UTC
// wherever the test runs. Read text only when all calls have ended.
func logTo(text io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(text, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "call_id" || a.Key == "key_id" {
			return slog.String(a.Key, "id")
		}
		if a.Value.Kind() == slog.KindTime {
			return slog.Time(a.Key, a.Value.Time().UTC())
		}
		return a
	}}))
}

func TestWithLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		client, _ := scripted(t, []responder{
			status(429, testKey, append(quota(60, 0, time.Minute), "Retry-After: 60")...),
			fails(errRefused), status(201, onePet), status(200, onePet),
		}, petstore.WithLogger(logTo(&text, slog.LevelDebug)),
			petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1, MaxDelay: 1}))
		require.NoError(t, create(client))
		require.NoError(t, get(client))
		testkit.AssertGolden(t, "testdata/log.txt", text.String())
		assert.NotContains(t, text.String(), testKey)
		assert.NotContains(t, text.String(), "Rex", "nothing of a body")
		for field := range reflect.TypeFor[petstore.AttemptDoneInfo]().Fields() {
			if field.Name != "Call" && field.Name != "Sent" { // other attributes have what these two say
				assert.Regexp(t, `"petstore: attempt" .* `+attribute(field.Name)+`[.=]`, text.String())
			}
		}
	})
}

// attribute returns the name that the log has for a field.
func attribute(field string) string {
	words := regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(field, "${1}_$2")
	return strings.NewReplacer("status_code", "status", "err", "error").Replace(strings.ToLower(words))
}

// scenario is what happens to a program with a client that logs.
type scenario struct {
	plan fake.Plan // PlanFree by default
	want []string  // level, message, and some attributes of the lines
	// runs makes the calls. Most programs only make calls one after the other.
	runs   func(t *testing.T, server *fake.Server, client *petstore.Client)
	call   callFunc
	times  int
	pause  time.Duration // after each call
	faults []fake.Fault  // one before each call, as long as there are any
}

func (s *scenario) run(t *testing.T) {
	faketest.Bubble(t, func(t *testing.T, server *fake.Server) {
		var text bytes.Buffer
		client := server.Client(petstore.WithLogger(logTo(&text, slog.LevelInfo)))
		for n := range s.times {
			if n < len(s.faults) {
				server.Inject(s.faults[n])
			}
			_ = s.call(client)
			time.Sleep(s.pause)
		}
		if s.runs != nil {
			s.runs(t, server, client)
		}
		var lines []string
		for line := range strings.Lines(text.String()) {
			shown := found(` (?:level|scope|limit|from|to|error_type|calls)=(\S+)`, line)
			shown[0] += " " + found(`msg="petstore: ([^"]+)"`, line)[0]
			lines = append(lines, strings.Join(shown, " "))
		}
		assert.Equal(t, s.want, lines, &text)
		others := strings.Contains(text.String(), "other processes")
		assert.Equal(t, others, strings.Contains(text.String(), "PETSTORE_PROCESSES"))
	}, fake.WithPlan(cmp.Or(s.plan, fake.PlanFree)))
}

// calls makes calls from several goroutines, with a pause after each call, and returns how many
// succeed.
func calls(client *petstore.Client, goroutines, each int, pause time.Duration) (succeeded int64) {
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

func TestLogOfTheLimit(t *testing.T) {
	usedUp := fake.Fault{Status: 429, RetryAfter: "20", Header: http.Header{"X-Ratelimit-Remaining": {"0"}}}
	inMinute := []string{"WARN rate limit closed minute 60", "INFO rate limit open again minute 60"}
	inBan := []string{"WARN rate limit closed ban 60", "INFO rate limit open again ban 60"}
	for name, s := range map[string]scenario{
		"429s that show that other processes use the key": {
			faults: []fake.Fault{usedUp, usedUp, usedUp}, call: list, times: 3,
			want: append(slices.Clone(inMinute), "WARN other processes use the key 60"),
		},
		"429s of requests that were in flight together": {
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				assert.EqualValues(t, 8, calls(client, 1, 8, 0))
				together := usedUp
				together.Times, together.Delay = 3, time.Second
				server.Inject(together)
				assert.EqualValues(t, 3, calls(client, 3, 1, 0))
			},
			want: inMinute,
		},
		"429s that are more than two minutes apart": {
			faults: []fake.Fault{usedUp, usedUp}, call: list, times: 2, pause: 110 * time.Second,
			want: inMinute,
		},
		"a ban, during which nothing is sent, and which is no sign of other processes": {
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				server.BanKey(server.APIKey(), 10*time.Hour)
				for range 6 {
					require.ErrorIs(t, list(client), petstore.ErrRateLimited)
				}
				assert.Len(t, server.Requests(), 1)
				time.Sleep(10*time.Hour + time.Minute)
				assert.EqualValues(t, 2, calls(client, 1, 2, 0))
			},
			want: inBan,
		},
		"the end of a day, and the next": {
			plan: fake.Plan{PerMinute: 100, PerDay: 300},
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				server.SetLatency(100 * time.Millisecond)
				assert.EqualValues(t, 300, calls(client, 64, 10, time.Minute))
				time.Sleep(24 * time.Hour)
				assert.EqualValues(t, 64, calls(client, 64, 1, 0))
			},
			want: []string{"WARN rate limit closed day 300", "INFO rate limit open again day 300"},
		},
		"a ban in the lockout of a minute": {
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				server.Inject(fake.Fault{Status: 429, RetryAfter: "20"})
				server.Inject(fake.Fault{Status: 429, RetryAfter: "7200"})
				assert.Zero(t, calls(client, 1, 2, 0))
				time.Sleep(3 * time.Hour)
				require.NoError(t, list(client))
			},
			want: append([]string{"WARN rate limit closed minute 60"}, inBan...),
		},
		"a ban that another client met, and an early end": {
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				other, err := client.ForKey(server.APIKey())
				require.NoError(t, err)
				server.Inject(fake.Fault{Status: 429, RetryAfter: "7200"})
				require.Error(t, list(other))
				require.Error(t, list(client))
				client.ReopenLimit()
				require.NoError(t, list(client))
			},
			want: inBan,
		},
		"300 calls in a queue": {
			plan: fake.Plan{PerMinute: 150},
			runs: func(t *testing.T, _ *fake.Server, client *petstore.Client) {
				assert.EqualValues(t, 300, calls(client, 300, 1, 0))
			},
		},
		"a deployment that stops calls which wait": {
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				ctx, stop := context.WithCancel(t.Context())
				stopping, err := client.ForKey(server.APIKey(), petstore.WithStop(ctx))
				require.NoError(t, err)
				time.AfterFunc(30*time.Second, stop)
				assert.EqualValues(t, 60, calls(stopping, 80, 1, 0))
			},
		},
		"a plan that is lowered, and a 401 with other limits": {
			plan: fake.Plan{PerMinute: 300},
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				require.NoError(t, list(client))
				server.Inject(fake.Fault{Status: 401, Header: http.Header{"X-Ratelimit-Limit": {"30"}}})
				require.Error(t, list(client))
				server.SetPlan(server.APIKey(), fake.Plan{PerMinute: 60})
				time.Sleep(time.Minute)
				assert.EqualValues(t, 5, calls(client, 1, 5, 0))
			},
			want: []string{"WARN key refused"},
		},
		"a key that is refused until it works again": {
			runs: func(t *testing.T, server *fake.Server, client *petstore.Client) {
				for n := range 6 {
					server.RevokeKey(server.APIKey())
					assert.Zero(t, calls(client, 1, 2, 0))
					server.AddKey(server.APIKey(), fake.PlanFree)
					require.NoError(t, list(client))
					if n == 4 {
						time.Sleep(time.Hour)
					}
				}
			},
			want: []string{ // four in an hour
				"WARN key refused", "WARN key refused", "WARN key refused", "WARN calls fail 401", "WARN key refused",
				"WARN key refused", "WARN calls fail 401",
			},
		},
	} {
		t.Run(name, s.run)
	}
}

// A key that rotates for ever must not fill the memory.
func TestLogForgetsKeys(t *testing.T) {
	var text bytes.Buffer
	n := 0
	client, _ := rotating(t, func(context.Context) (string, error) { n++; return fmt.Sprint("key-", n), nil },
		[]responder{status(401, "")}, once, petstore.WithLogger(logTo(&text, slog.LevelInfo)))
	for range 1001 {
		require.Error(t, list(client))
	}
	n = 0 // the first key again: that it had a line is forgotten
	require.Error(t, list(client))
	assert.Equal(t, 1002, strings.Count(text.String(), "key refused"))
}

// handler calls a function for each record.
type handler func(ctx context.Context, message string)

func (handler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (h handler) Handle(ctx context.Context, r slog.Record) error { h(ctx, r.Message); return nil }
func (h handler) WithAttrs([]slog.Attr) slog.Handler              { return h }
func (h handler) WithGroup(string) slog.Handler                   { return h }

// TestLogHandler has handlers that panic, hang or make calls. They must harm only the call whose
// line they get. The service fails and recovers, and the day ends.
func TestLogHandler(t *testing.T) {
	for name, handle := range map[string]func(ctx context.Context, client *petstore.Client, end <-chan bool){
		"that makes calls": func(ctx context.Context, client *petstore.Client, _ <-chan bool) {
			assert.Nil(t, ctx.Value(markKey{}), "a call that the handler makes with its context has no lines")
			ctx = context.WithValue(ctx, markKey{}, true)
			_, _ = client.ListPets(ctx, petstore.ListPetsParams{}, petstore.WithMaxWait(0))
			_ = create(client, petstore.WithMaxWait(0))
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
				try := func(call callFunc) {
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
				assert.GreaterOrEqual(t, ended.Load()+lines.Load(), int64(30+30+5), "the others have ended")
				assert.Greater(t, succeeded.Load(), int64(18), "most calls of the last two minutes")
				close(end)
			}, fake.WithPlan(fake.Plan{PerMinute: 60, PerDay: 1000}))
		})
	}
}

package petstore_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/ratelimit"
)

var sentinels = []error{
	petstore.ErrBadRequest, petstore.ErrUnauthorized, petstore.ErrNotFound, petstore.ErrRateLimited,
	petstore.ErrOutcomeUnknown, petstore.ErrInvalidResponse, petstore.ErrInvalidArgument,
	petstore.ErrNotSent, petstore.ErrAPIKey, petstore.ErrStopped, petstore.ErrTimeout,
}

func TestAPIErrorIs(t *testing.T) {
	for code := 100; code < 600; code++ {
		for _, unknown := range []bool{false, true} {
			err := error(&petstore.APIError{OutcomeUnknown: unknown, Response: petstore.Response{StatusCode: code}})
			want := map[error]bool{
				petstore.ErrBadRequest: code == 400, petstore.ErrUnauthorized: code == 401,
				petstore.ErrNotFound: code == 404, petstore.ErrRateLimited: code == 429,
				petstore.ErrOutcomeUnknown: unknown,
			}
			for _, sentinel := range sentinels {
				assert.Equal(t, want[sentinel], errors.Is(err, sentinel), "%d %v", code, sentinel)
			}
		}
	}
}

func TestErrorText(t *testing.T) {
	// testdata/errors.txt has the others.
	t.Run("leaves out what is not known", func(t *testing.T) {
		at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		for want, err := range map[string]error{
			`petstore: getPet: 799 "no such\ncode"`: &petstore.APIError{
				Operation: "getPet", Code: "no such\ncode", Response: petstore.Response{StatusCode: 799},
			},
			`petstore: rate limited until 2026-11-21T12:00:00Z, nothing was sent`: &petstore.RateLimitError{RetryAt: at},
			"petstore: createPet: 304 Not Modified; the pet may have been created": &petstore.APIError{
				Operation: "createPet", Response: petstore.Response{StatusCode: 304}, OutcomeUnknown: true,
			},
			"petstore: 404 Not Found": &petstore.APIError{Response: petstore.Response{StatusCode: 404}},
			"petstore: 0":             &petstore.APIError{}, "petstore: rate limited": &petstore.RateLimitError{Attempts: 1},
			"petstore: invalid response: ": &petstore.ResponseError{}, "petstore: ": &petstore.ArgumentError{},
			"petstore: no response":                         &petstore.TransportError{},
			"petstore: createPet: no response (2 attempts)": &petstore.TransportError{Operation: "createPet", Attempts: 2},
		} {
			assert.EqualError(t, err, want)
		}
	})
	t.Run("has nothing of the header, which anybody on the way may have written", func(t *testing.T) {
		header := http.Header{}
		for _, name := range []string{"X-Request-Id", "Server", "Via", "Date", "Location", "Retry-After", "Content-Type", "Sunset"} {
			header.Set(name, "of the header")
		}
		for _, code := range []int{200, 302, 401, 429, 503} {
			response := petstore.Response{StatusCode: code, Header: header}
			for _, err := range []interface {
				error
				slog.LogValuer
			}{&petstore.APIError{Response: response}, &petstore.ResponseError{Response: response}} {
				assert.NotContains(t, err.Error()+err.LogValue().String(), "of the header")
			}
		}
	})
	t.Run("is one short line whatever the server sends", func(t *testing.T) {
		for _, evil := range []string{strings.Repeat("x", 5000), strings.Repeat("\xff\u202e\"\n日", 999)} { // internal/safetext has more
			response := petstore.Response{StatusCode: 500, Attempts: 3}
			for _, err := range []error{
				&petstore.APIError{Operation: "listPets", Code: evil, Message: evil, Response: response},
				&petstore.RateLimitError{Operation: "listPets", Err: errors.New(evil)},
				&petstore.ResponseError{Operation: "listPets", Reason: evil, Err: errors.New(evil), Response: response},
				&petstore.ArgumentError{Operation: "listPets", Argument: evil, Reason: evil},
				&petstore.TransportError{Operation: "listPets", Err: errors.New(evil)},
			} {
				assertShortLine(t, err)
				assert.True(t, strings.HasPrefix(err.Error(), "petstore: listPets: "), "%T: %s", err, err)
			}
		}
	})
}

// TestLogValueFields holds that the log has each field of an error, unless there is a reason.
func TestLogValueFields(t *testing.T) {
	leftOut := map[string]string{
		"Header": "may have anything", "Body": "may have anything",
		"Err": "is part of the text",
	}
	for _, err := range []slog.LogValuer{
		&petstore.APIError{}, &petstore.RateLimitError{}, &petstore.ResponseError{}, &petstore.TransportError{}, &petstore.ArgumentError{},
	} {
		v := reflect.ValueOf(err).Elem()
		var fields []string
		for _, field := range reflect.VisibleFields(v.Type()) {
			if field.IsExported() && !field.Anonymous && leftOut[field.Name] == "" {
				fill(v.FieldByIndex(field.Index))
				name := regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(strings.TrimSuffix(field.Name, "Code"), "${1}_$2")
				fields = append(fields, cmp.Or(strings.ToLower(name), "code"))
			}
		}
		var logged []string
		for _, attr := range err.LogValue().Group() {
			logged = append(logged, attr.Key)
		}
		for _, field := range fields {
			assert.Contains(t, logged, field, "%T", err)
		}
	}
}

// TestErrorBuiltByHand builds each error of a call from its exported fields, as a user's test does.
func TestErrorBuiltByHand(t *testing.T) {
	types := map[reflect.Type]bool{}
	for name, provoke := range failures() {
		t.Run(name, func(t *testing.T) {
			err := provoke(t)
			built := byHand(err)
			types[reflect.TypeOf(err)] = true
			assert.EqualError(t, built, err.Error())
			assert.Equal(t, fmt.Sprint(err.(slog.LogValuer).LogValue()), fmt.Sprint(built.(slog.LogValuer).LogValue()))
			for _, target := range append(sentinels, context.Canceled, context.DeadlineExceeded) {
				assert.Equal(t, errors.Is(err, target), errors.Is(built, target), "%v", target)
			}
			assert.Equal(t, typesIn(err), typesIn(built))
			after, known := petstore.RetryAfterHeader(err)
			again, knows := petstore.RetryAfterHeader(built)
			assert.Equal(t, []any{after, known}, []any{again, knows})
		})
	}
	assert.Len(t, types, 5)
}

// typesIn returns which types errors.As finds.
func typesIn(err error) (found [5]bool) {
	_, found[0] = errors.AsType[*petstore.APIError](err)
	_, found[1] = errors.AsType[*petstore.ArgumentError](err)
	_, found[2] = errors.AsType[*petstore.RateLimitError](err)
	_, found[3] = errors.AsType[*petstore.ResponseError](err)
	_, found[4] = errors.AsType[*petstore.TransportError](err)
	return found
}

func byHand(err error) error {
	if _, ours := err.(slog.LogValuer); !ours {
		return err
	}
	from := reflect.ValueOf(err).Elem()
	to := reflect.New(from.Type())
	for i := range from.NumField() {
		if from.Type().Field(i).IsExported() {
			to.Elem().Field(i).Set(from.Field(i))
		}
	}
	if inner := to.Elem().FieldByName("Err"); inner.IsValid() && !inner.IsNil() {
		inner.Set(reflect.ValueOf(byHand(inner.Interface().(error))))
	}
	return to.Interface().(error)
}

// fill sets a field to another value than zero.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(60, 0)))
	case petstore.RateLimit:
		v.Set(reflect.ValueOf(petstore.RateLimit{Limit: 60, Reset: time.Unix(60, 0)}))
	default:
		if v.Kind() == reflect.Bool {
			v.SetBool(true)
		} else if v.Kind() == reflect.String {
			v.SetString("text")
		} else if v.CanInt() {
			v.SetInt(400)
		}
	}
}

// TestErrNotSent has calls of several attempts; TestRetryByResponse has one response to all.
func TestErrNotSent(t *testing.T) {
	twice := petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 2})
	closed := petstore.WithLimiter(refuses)
	asked := 0 // how often the limiter was asked in a call
	closes := func(err error) petstore.Option {
		return petstore.WithLimiter(limiterFunc(func(ctx context.Context, _ ratelimit.Request) (ratelimit.Permit, error) {
			asked++
			if c, _ := petstore.CallFromContext(ctx); c.Attempt > 0 {
				return nil, err
			}
			return new(permits), nil
		}))
	}
	for name, row := range map[string]struct {
		responders []responder
		opts       []petstore.Option
		notSent    bool
		unknown    bool // for a create
	}{
		"the dial fails after a reset": {[]responder{fails(errReset), fails(errRefused)}, []petstore.Option{twice}, false, true},
		"the dial fails after a 503":   {[]responder{status(503, ""), fails(errRefused)}, []petstore.Option{twice}, false, true},
		"the limiter refuses":          {nil, []petstore.Option{closed}, true, false},
		"the limiter refuses after a failed dial": {
			[]responder{fails(errRefused)}, []petstore.Option{closes(&ratelimit.Error{})}, true, false,
		},
		"the limiter refuses after a reset": {
			[]responder{fails(errReset)}, []petstore.Option{closes(&ratelimit.Error{})}, false, true,
		},
		"the limiter breaks after a 429": {
			[]responder{status(429, "", "Retry-After: 1")}, []petstore.Option{closes(errors.New("broken"))}, false, false,
		},
	} {
		for operation, call := range operations {
			virtual(t, name+", "+operation, func(t *testing.T) {
				client, _ := scripted(t, row.responders, row.opts...)
				asked = 0
				err := call(client)
				require.Error(t, err)
				assert.LessOrEqual(t, asked, 2, "a refusal is not retried")
				assert.Equal(t, row.notSent, errors.Is(err, petstore.ErrNotSent), "%v", err)
				assert.Equal(t, row.unknown && samples[operation].writes, errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
			})
		}
	}
}

func TestRetryAfter(t *testing.T) {
	virtual(t, "finds the time in each error", func(t *testing.T) {
		busy := &petstore.APIError{RetryAfter: 7 * time.Second, Response: petstore.Response{StatusCode: 503}}
		for name, row := range map[string]struct {
			err   error
			after time.Duration
			known bool
		}{
			"a refusal":             {&petstore.RateLimitError{RetryAt: time.Now().Add(time.Hour)}, time.Hour, true},
			"its time has passed":   {&petstore.RateLimitError{RetryAt: time.Now().Add(-time.Hour)}, 0, true},
			"its time is not known": {&petstore.RateLimitError{}, 0, false},
			"a 503":                 {busy, 7 * time.Second, true},
			"wrapped":               {fmt.Errorf("import: %w", busy), 7 * time.Second, true},
			"a 429 within":          {&petstore.RateLimitError{Err: busy}, 7 * time.Second, true},
			"a 503 without":         {&petstore.APIError{}, 0, false},
			"another error":         {errReset, 0, false},
			"none":                  {nil, 0, false},
		} {
			after, known := petstore.RetryAfter(row.err)
			assert.Equal(t, row.known, known, name)
			assert.Equal(t, row.after, after, name)
		}
	})
	virtual(t, "counts down, and knows nothing of what may have been carried out", func(t *testing.T) {
		client, _ := scripted(t, []responder{status(503, "", "Retry-After: 30")}, petstore.WithMaxWait(0))
		err := list(client)
		for _, want := range []time.Duration{30 * time.Second, 10 * time.Second, 0} {
			left, ok := petstore.RetryAfter(err)
			assert.True(t, ok)
			assert.Equal(t, want, left)
			time.Sleep(20 * time.Second)
		}
		_, ok := petstore.RetryAfter(create(client))
		assert.False(t, ok)
	})
	virtual(t, "is a header in whole seconds", func(t *testing.T) {
		for d, want := range map[time.Duration]string{
			time.Second: "1", 1001 * time.Millisecond: "2", -time.Hour: "1", 0: "1", 10 * time.Hour: "36000",
		} {
			header, ok := petstore.RetryAfterHeader(&petstore.RateLimitError{RetryAt: time.Now().Add(d)})
			assert.True(t, ok)
			assert.Equal(t, want, header)
		}
		_, ok := petstore.RetryAfterHeader(new(petstore.RateLimitError))
		assert.False(t, ok)
		header, _ := petstore.RetryAfterHeader(&petstore.APIError{RetryAfter: 1500 * time.Millisecond})
		assert.Equal(t, "2", header, "of a 503")
		far, _ := petstore.RetryAfterHeader(&petstore.RateLimitError{RetryAt: time.Now().AddDate(900, 0, 0)})
		assert.Len(t, far, 10, "the longest time.Duration in seconds")
	})
	virtual(t, "is not in the past after a slow body", func(t *testing.T) {
		slowly := func(r *http.Request) (*http.Response, error) {
			body := failingReader{func() error { time.Sleep(5 * time.Second); return io.EOF }}
			return response(r, 429, body, "Retry-After: 1"), nil
		}
		client, _ := scripted(t, []responder{slowly}, petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
		assert.Equal(t, time.Now().Add(5*time.Second), as[*petstore.RateLimitError](t, list(client)).RetryAt)
	})
}

// TestForeignErrors has errors of the user's functions that say something about other calls.
func TestForeignErrors(t *testing.T) {
	lost, _ := scripted(t, []responder{fails(errReset)})
	refused, _ := scripted(t, []responder{fails(errRefused)}, petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
	mine := errors.New("mine")
	for name, foreign := range map[string]error{
		"unknown": create(lost), "not sent": list(refused), "sentinels": errors.Join(petstore.ErrOutcomeUnknown, petstore.ErrNotSent, petstore.ErrStopped),
		"timeout": errors.Join(petstore.ErrTimeout, context.DeadlineExceeded),
	} {
		err := errors.Join(mine, foreign)
		byKey, _ := rotating(t, func(context.Context) (string, error) { return "", err }, nil)
		byLimiter, _ := scripted(t, nil, petstore.WithLimiter(returns(nil, err)))
		byRefusal, _ := scripted(t, nil, petstore.WithLimiter(returns(nil, &ratelimit.Error{Err: err})))
		byTransport, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			return nil, err
		}})
		byBody, _ := scripted(t, []responder{cutOff(201, err)})
		for by, client := range map[string]*petstore.Client{
			"key": byKey, "limiter": byLimiter, "refusal": byRefusal, "transport": byTransport, "body": byBody,
		} {
			sent := by == "transport" || by == "body"
			got := create(client)
			require.ErrorIs(t, got, mine, "%s by %s", name, by)
			assert.Equal(t, sent, errors.Is(got, petstore.ErrOutcomeUnknown), "%s by %s: %v", name, by, got)
			assert.Equal(t, !sent, errors.Is(got, petstore.ErrNotSent), "%s by %s: %v", name, by, got)
			assert.NotErrorIs(t, got, petstore.ErrStopped, "%s by %s", name, by)
			if by != "refusal" { // it may be about the end of the call's context
				assert.NotErrorIs(t, got, context.DeadlineExceeded, "%s by %s", name, by)
				assert.NotErrorIs(t, got, petstore.ErrTimeout, "%s by %s", name, by)
			}
		}
	}
}

func TestErrTimeout(t *testing.T) {
	for text, opt := range map[string]petstore.Option{
		"attempt timed out after 3s":                       petstore.WithAttemptTimeout(3 * time.Second),
		"context deadline exceeded: WithCallTimeout of 3s": petstore.WithCallTimeout(3 * time.Second),
	} {
		virtual(t, text, func(t *testing.T) {
			client, service := scripted(t, []responder{hangs}, opt)
			err := create(client)
			require.ErrorIs(t, err, petstore.ErrTimeout)
			require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.Equal(t, strings.Contains(text, "Call"), errors.Is(err, context.DeadlineExceeded))
			timeout, ok := errors.AsType[net.Error](err)
			assert.True(t, ok && timeout.Timeout())
			assert.ErrorContains(t, err, text)
			assert.Len(t, service.sent(), 1)
		})
	}
}

func TestCallID(t *testing.T) {
	var log bytes.Buffer
	var id string
	client, _ := scripted(t, []responder{fails(errReset)}, petstore.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
		petstore.WithTrace(&petstore.ClientTrace{CallDone: func(_ context.Context, info petstore.CallDoneInfo) { id = info.Call.ID }}))
	failed := as[*petstore.TransportError](t, create(client))
	assert.Regexp(t, `^[0-9a-f]{16}$`, id)
	assert.Equal(t, id, failed.CallID)
	assert.Contains(t, log.String(), "call_id="+id+" ")
}

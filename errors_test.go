package petstore_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/golden"
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
	// The other errors are in testdata/errors.txt.
	t.Run("leaves out what is not known", func(t *testing.T) {
		at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		strange := petstore.Response{StatusCode: 799}
		for want, err := range map[string]error{
			`petstore: getPet: 799 "no such\ncode"`: &petstore.APIError{
				Operation: "getPet", Code: "no such\ncode", Response: strange,
			},
			"petstore: createPet: 304 Not Modified; the pet may have been created": &petstore.APIError{
				Operation: "createPet", Response: petstore.Response{StatusCode: 304}, OutcomeUnknown: true,
			},
			"petstore: 0":                  &petstore.APIError{},
			"petstore: invalid response: ": &petstore.ResponseError{},
			"petstore: ":                   &petstore.ArgumentError{},
			"petstore: no response":        &petstore.TransportError{},
			"petstore: rate limited":       &petstore.RateLimitError{Attempts: 1},
			"petstore: createPet: no response (2 attempts)": &petstore.TransportError{
				Operation: "createPet", Attempts: 2,
			},
			"petstore: rate limited until 2026-11-21T12:00:00Z, nothing was sent": &petstore.RateLimitError{RetryAt: at},
		} {
			assert.EqualError(t, err, want)
		}
	})
	t.Run("is one short line whatever the server sends", func(t *testing.T) {
		for _, evil := range []string{strings.Repeat("x", 5000), strings.Repeat("\xff\u202e\"\n日", 999)} {
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

// TestErrorGoldenFiles compares each error of the README's table with golden files, as a text and
// as an attribute of a log.
func TestErrorGoldenFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var texts strings.Builder
		var text, json bytes.Buffer
		record := func(name string, err error) {
			require.Error(t, err, name)
			line := regexp.MustCompile(`0x[0-9a-f]+`).ReplaceAllString(err.Error(), "0x…")
			texts.WriteString(name + "\n\t" + line + "\n")
			logTo(&text, slog.LevelInfo, asText).Error("failed", "case", name, "err", err)
			logTo(&json, slog.LevelInfo, asJSON).Error("failed", "case", name, "err", err)
		}
		limited := append(quota(60, 0, time.Minute), "Retry-After: 3600")
		for _, row := range []struct {
			name    string
			respond responder
			call    callFunc
		}{
			{"400", status(400, `{"code":"invalid_request","message":"name is missing","status":400}`), create},
			{"401", status(401, `{"code":"unauthorized","message":"unknown key","status":401}`), list},
			{"404", status(404, `{"code":"not_found","message":"no such pet","status":404}`), get},
			{"429", status(429, `{"code":"rate_limited","message":"60 a minute","status":429}`, limited...), list},
			{"503 of a read", status(503, "", "Retry-After: 3600"), list},
			{"503 of a create", status(503, ""), create},
			{"303 of a create", status(303, "", "Location: /v1/pets/1"), create},
			{"501", status(501, ""), create},
			{"202 of a create", status(202, ""), create},
			{"not JSON", status(200, "<html>"), list},
			{"body cut off, of a create", cutOff(201, errReset), create},
			{"reset of a create", fails(errReset), create},
			{"connection refused", fails(errRefused), create},
			{"closed", fails(io.EOF), list},
			{"no such host", fails(&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}), list},
			{"certificate", fails(&tls.CertificateVerificationError{Err: errors.New("expired")}), list},
			{"TLS alert", fails(&net.OpError{Op: "remote error", Err: tls.AlertError(40)}), list},
			{"anything else", fails(errors.New("anything")), list},
			{"attempt timed out", hangs, list},
		} {
			client, _ := scripted(t, []responder{row.respond},
				petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 2, BaseDelay: 1, MaxDelay: 1}))
			record(row.name, row.call(client))
		}
		client, _ := scripted(t, []responder{hangs})
		record("WithCallTimeout", create(client, petstore.WithCallTimeout(5*time.Second)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.CreatePet(ctx, newPet())
		record("the caller's deadline", err)
		_, err = client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 101})
		record("an argument", err)
		_, err = petstore.NewClient(" https://service.test/v1", testKey)
		record("white space around the base URL", err)
		record("a ban", &petstore.RateLimitError{Operation: "listPets", Scope: ratelimit.ScopeBan, RetryAt: time.Now()})
		golden.Assert(t, "testdata/errors.txt", texts.String())
		golden.Assert(t, "testdata/errors.log", text.String())
		golden.Assert(t, "testdata/errors.json", json.String())
		for _, e := range []any{
			petstore.APIError{}, petstore.RateLimitError{}, petstore.ResponseError{}, petstore.TransportError{},
			petstore.ArgumentError{}, petstore.Response{},
		} {
			for field := range reflect.TypeOf(e).Fields() {
				// Header and Body may contain anything, so they have no attribute; Err is a part of the text.
				if field.IsExported() && !field.Anonymous && !slices.Contains([]string{"Header", "Body", "Err"}, field.Name) {
					assert.Contains(t, json.String(), `"`+attribute(field.Name)+`":`, "%T.%s", e, field.Name)
				}
			}
		}
	})
}

// TestErrorBuiltByHand builds each error of a call from its exported fields, as the test of a user
// does.
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
			_, api := errors.AsType[*petstore.APIError](err)
			_, alsoAPI := errors.AsType[*petstore.APIError](built)
			assert.Equal(t, api, alsoAPI)
			after, known := petstore.RetryAfterHeader(err)
			again, knows := petstore.RetryAfterHeader(built)
			assert.Equal(t, []any{after, known}, []any{again, knows})
		})
	}
	assert.Len(t, types, 5)
}

func byHand(err error) error {
	if _, ours := err.(slog.LogValuer); !ours {
		return err
	}
	from := reflect.ValueOf(err).Elem()
	to := reflect.New(from.Type())
	for i := range from.NumField() {
		field := from.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		to.Elem().Field(i).Set(from.Field(i))
		if inner, ok := from.Field(i).Interface().(error); ok && field.Name == "Err" {
			to.Elem().Field(i).Set(reflect.ValueOf(byHand(inner)))
		}
	}
	return to.Interface().(error)
}

// TestErrNotSent has calls whose attempts end differently. In TestRetryByResponse all attempts of a
// call end in the same way.
func TestErrNotSent(t *testing.T) {
	twice := petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 2})
	// refusesSecond is a limiter that admits only the first attempt of a call.
	refusesSecond := func(err error) petstore.Option {
		return petstore.WithLimiter(limiterFunc(func(ctx context.Context, _ ratelimit.Request) (ratelimit.Permit, error) {
			if c, _ := petstore.CallFromContext(ctx); c.Attempt > 0 {
				return nil, err
			}
			return new(permits), nil
		}))
	}
	limited, broken := &ratelimit.Error{}, errors.New("broken")
	for name, row := range map[string]struct {
		responders []responder
		opt        petstore.Option
		notSent    bool
		unknown    bool // for a create
	}{
		"the dial fails after a reset": {responders: []responder{fails(errReset), fails(errRefused)}, opt: twice, unknown: true},
		"the dial fails after a 503":   {responders: []responder{status(503, ""), fails(errRefused)}, opt: twice, unknown: true},
		"the limiter refuses":          {opt: petstore.WithLimiter(refuses), notSent: true},
		"the limiter refuses after a failed dial": {
			responders: []responder{fails(errRefused)}, opt: refusesSecond(limited), notSent: true,
		},
		"the limiter refuses after a reset": {
			responders: []responder{fails(errReset)}, opt: refusesSecond(limited), unknown: true,
		},
		"the limiter breaks after a 429": {
			responders: []responder{status(429, "", "Retry-After: 1")}, opt: refusesSecond(broken),
		},
	} {
		for operation, sample := range samples {
			virtual(t, name+", "+operation, func(t *testing.T) {
				client, service := scripted(t, row.responders, row.opt)
				err := sample.call(client)
				require.Error(t, err)
				assert.LessOrEqual(t, len(service.sent()), len(row.responders), "a refusal is not retried")
				assert.Equal(t, row.notSent, errors.Is(err, petstore.ErrNotSent), "%v", err)
				assert.Equal(t, row.unknown && sample.writes, errors.Is(err, petstore.ErrOutcomeUnknown), "%v", err)
			})
		}
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := func(d time.Duration) error { return &petstore.RateLimitError{RetryAt: time.Now().Add(d)} }
		busy := &petstore.APIError{RetryAfter: 1500 * time.Millisecond, Response: petstore.Response{StatusCode: 503}}
		for name, row := range map[string]struct {
			err    error
			after  time.Duration
			header string // in whole seconds; empty if the time is not known
		}{
			"a refusal":             {err: refused(1001 * time.Millisecond), after: 1001 * time.Millisecond, header: "2"},
			"its time has passed":   {err: refused(-time.Hour), header: "1"},
			"its time is not known": {err: &petstore.RateLimitError{}},
			"the longest time":      {err: refused(math.MaxInt64), after: math.MaxInt64, header: "9223372037"},
			"a 503":                 {err: busy, after: 1500 * time.Millisecond, header: "2"},
			"wrapped":               {err: fmt.Errorf("import: %w", busy), after: 1500 * time.Millisecond, header: "2"},
			"a 429 within":          {err: &petstore.RateLimitError{Err: busy}, after: 1500 * time.Millisecond, header: "2"},
			"a 503 without":         {err: &petstore.APIError{}},
			"another error":         {err: errReset},
			"none":                  {},
		} {
			after, known := petstore.RetryAfter(row.err)
			header, ok := petstore.RetryAfterHeader(row.err)
			assert.Equal(t, row.header != "", known, name)
			assert.Equal(t, row.header != "", ok, name)
			assert.Equal(t, row.after, after, name)
			assert.Equal(t, row.header, header, name)
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
	virtual(t, "is not in the past after a slow body", func(t *testing.T) {
		slowly := func(r *http.Request) (*http.Response, error) {
			body := failingReader{func() error { time.Sleep(5 * time.Second); return io.EOF }}
			return response(r, 429, body, "Retry-After: 1"), nil
		}
		client, _ := scripted(t, []responder{slowly}, once)
		assert.Equal(t, time.Now().Add(5*time.Second), as[*petstore.RateLimitError](t, list(client)).RetryAt)
	})
}

// TestForeignErrors lets functions of the user return errors that are about other calls. The error
// of the call must not match these.
func TestForeignErrors(t *testing.T) {
	lost, _ := scripted(t, []responder{fails(errReset)})
	refused, _ := scripted(t, []responder{fails(errRefused)}, once)
	mine := vaultError{errors.New("mine")}
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
			_, found := errors.AsType[vaultError](got)
			assert.True(t, found, "%s by %s", name, by)
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

package petstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/internal/testkit"
)

func TestRequestGolden(t *testing.T) {
	var template string
	client, service := scripted(t, []responder{status(404, ``)}, petstore.WithHeader("User-Agent", "goldens/1"),
		petstore.WithTrace(&petstore.ClientTrace{
			AttemptStart: func(_ context.Context, c petstore.Call) { template = c.Template },
		}))
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		require.ErrorIs(t, samples[name].call(client), petstore.ErrNotFound)
		path := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(template, `[\w.~-]+`)
		assert.Regexp(t, `^https://service\.test`+path+`(\?|$)`, service.sent()[len(service.sent())-1].url, name)
	}
	_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{})
	_, _ = client.ListPets(t.Context(), petstore.ListPetsParams{Limit: 1, Status: petstore.PetStatusSold})
	_, _ = client.CreatePet(t.Context(), petstore.NewPet{Name: "x"})
	_, _ = client.CreatePet(t.Context(), petstore.NewPet{
		Name: "Ünal \"<Rex>\" & \u2028 \\ 🐕\n", CategoryID: -9223372036854775808, Status: petstore.PetStatusPending,
	})
	_, _ = client.GetPet(t.Context(), 9223372036854775807)
	var all strings.Builder
	for _, request := range service.sent() {
		assert.Equal(t, "Bearer "+testKey, request.header.Get("Authorization"))
		request.header.Set("Authorization", "Bearer …")
		all.WriteString(request.dump() + "\n\n")
	}
	testkit.AssertGolden(t, "testdata/requests.txt", all.String())
}

// An error that leaves open whether a write was carried out says which one.
func TestDoubtNamesTheWrite(t *testing.T) {
	client, _ := scripted(t, []responder{status(500, ``)})
	writes := make(map[string]string)
	for name, sample := range withRemove() {
		if sample.writes {
			_, doubt, _ := strings.Cut(sample.call(client).Error(), "; ")
			assert.Empty(t, writes[doubt], "%q is also the doubt of %s in pets.go", doubt, name)
			writes[doubt] = name
		}
	}
}

func TestResult(t *testing.T) {
	body := `[` + onePet + `,{"id":-1,"name":"Ada","categoryId":1,"status":"adopted"}]`
	limit := []string{"X-Ratelimit-Limit: 60", "X-Ratelimit-Remaining: 59", "X-Ratelimit-Reset: 1795262400"}
	client, _ := scripted(t, []responder{status(200, body, append(limit, "X-Other: y")...)})
	result, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.Equal(t, []petstore.Pet{
		{ID: 7, Name: "Rex", CategoryID: 3, Status: petstore.PetStatusAvailable},
		{ID: -1, Name: "Ada", CategoryID: 1, Status: "adopted"},
	}, result.Pets)
	assert.Equal(t, 200, result.StatusCode)
	assert.Equal(t, 1, result.Attempts)
	assert.Equal(t, "y", result.Header.Get("X-Other"))
	assert.Equal(t, 59, result.RateLimit.Remaining)
	assert.False(t, result.Pets[1].Status.Valid(), "an unknown status is returned unchanged")
}

func TestArgumentError(t *testing.T) {
	client, service := scripted(t, []responder{status(200, `[]`)})
	lists := func(p petstore.ListPetsParams) error { _, err := client.ListPets(t.Context(), p); return err }
	creates := func(p petstore.NewPet) error { _, err := client.CreatePet(t.Context(), p); return err }
	var none context.Context
	_, noContext := client.GetPet(none, 1)
	for _, c := range []struct {
		argument string
		err      error
	}{
		{"Limit", lists(petstore.ListPetsParams{Limit: 101})},
		{"Limit", lists(petstore.ListPetsParams{Limit: -1})},
		{"Name", creates(petstore.NewPet{})},
		{"Name", creates(petstore.NewPet{Name: "a\xffb"})},
		{"Status", creates(petstore.NewPet{Name: "x", Status: "a\xffb"})},
		{"ctx", noContext}, {"option 1", list(client, nil)}, {"Client", create(new(petstore.Client))},
	} {
		assert.Equal(t, c.argument, as[*petstore.ArgumentError](t, c.err).Argument)
	}
	assert.Empty(t, service.sent())
}

// TestCreatePetStatus checks for each status what the error says about the create. That must not
// depend on what happens to the body of the response.
func TestCreatePetStatus(t *testing.T) {
	var during context.Context // what the body waits for
	for name, read := range map[string]func(attempt context.Context) error{
		"whole":                       func(context.Context) error { return io.EOF },
		"reset":                       func(context.Context) error { return errReset },
		"malformed":                   func(context.Context) error { return errors.New("malformed MIME header line: x") },
		"stalled in the attempt":      func(attempt context.Context) error { <-attempt.Done(); return attempt.Err() },
		"stalled in the caller's ctx": func(context.Context) error { <-during.Done(); return during.Err() },
	} {
		for code := 200; code < 600; code++ {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				during = ctx // the context of this bubble
				client, service := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
					return response(r, code, failingReader{func() error { return read(r.Context()) }}), nil
				}})
				_, err := client.CreatePet(ctx, newPet(), petstore.WithAttemptTimeout(time.Second-1), once)
				refused := code/100 == 4 && code != http.StatusRequestTimeout || code == http.StatusNotImplemented
				require.Equal(t, !refused, errors.Is(err, petstore.ErrOutcomeUnknown), "%s, %d: %v", name, code, err)
				want := map[bool]int{true: 0, false: 1}[refused]
				require.Equal(t, want, strings.Count(err.Error(), "the pet may have been created"), "%v", err)
				require.Equal(t, during.Err() != nil, errors.Is(err, context.DeadlineExceeded), "%v", err)
				require.Equal(t, code == http.StatusTooManyRequests, errors.Is(err, petstore.ErrRateLimited), "%v", err)
				require.Equal(t, code == http.StatusNotFound, errors.Is(err, petstore.ErrNotFound), "%v", err)
				require.Len(t, service.sent(), 1)
			})
		}
	}
}

// assertShortLine checks that the text of err fits any log: one line of at most 512 bytes of UTF-8,
// without characters that move a cursor or change the reading direction.
func assertShortLine(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	assert.LessOrEqual(t, len(text), 512, "%T", err)
	assert.True(t, utf8.ValidString(text), "%T: %q", err, text)
	unfit := func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	}
	assert.Equal(t, -1, strings.IndexFunc(text, unfit), "%T: %q", err, text)
}

func TestDo(t *testing.T) {
	once := petstore.WithRetryPolicy(petstore.RetryPolicy{BaseDelay: 1})
	client, service := scripted(t, []responder{status(503, ""), status(200, `{"a":1}`)}, once)
	var out struct{ A int }
	resp, err := client.Do(t.Context(), "GET", "/orders/7?full=true", nil, &out)
	require.NoError(t, err)
	assert.Equal(t, 2, resp.Attempts)
	assert.Equal(t, 1, out.A)
	assert.Len(t, service.sent(), 2)

	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		for _, in := range []any{nil, map[string]int{"a": 1}} {
			client, service = scripted(t, []responder{status(503, ""), status(204, ""), status(404, "")}, once)
			_, err = client.Do(t.Context(), method, "orders", in, nil)
			require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
			_, err = client.Do(t.Context(), method, "orders", in, &out)
			require.NoError(t, err)
			_, err = client.Do(t.Context(), method, "orders", in, &out)
			require.ErrorIs(t, err, petstore.ErrNotFound)
			require.NotErrorIs(t, err, petstore.ErrOutcomeUnknown)
			assert.Len(t, service.sent(), 3)
		}
	}
}

func TestDoArguments(t *testing.T) {
	client, service := scripted(t, nil)
	for _, c := range []struct {
		method, path string
		in, out      any
	}{
		// The tests of internal/credential have all wrong paths.
		{"GET", "", nil, nil}, {"GET", "//evil.test/x", nil, nil}, {"GET", "../admin", nil, nil},
		{"GET", "pets/%2e%2e/admin", nil, nil}, {"GET", "a b", nil, nil}, {"GET", "pets?a b", nil, nil},
		{"", "pets", nil, nil}, {"get", "pets", nil, nil}, {"CONNECT", "pets", nil, nil}, {"A B", "pets", nil, nil},
		{"GET", "pets", 1, nil}, {"POST", "pets", func() {}, nil}, {"POST", "pets", nil, struct{}{}},
	} {
		_, err := client.Do(t.Context(), c.method, c.path, c.in, c.out)
		require.ErrorIs(t, err, petstore.ErrInvalidArgument, "%s %s", c.method, c.path)
	}
	assert.Empty(t, service.sent())
}

func TestDoEncoding(t *testing.T) {
	const body = `{"id":7,"name":"Rex","categoryId":3,"tag":"good"}`
	t.Run("the path and the query stay as they are", func(t *testing.T) {
		client, service := scripted(t, []responder{status(200, body)})
		for _, text := range []string{"7;admin=true", "a,b", "a:b", "a@b", "a+b", "a=b", "a&b", "a$b", "ä ö"} {
			_, err := client.Do(t.Context(), http.MethodGet, "pets/"+url.PathEscape(text)+"?q=1%2C2", nil, nil)
			require.NoError(t, err)
			sent := service.sent()
			assert.Equal(t, "https://service.test/v1/pets/"+url.PathEscape(text)+"?q=1%2C2", sent[len(sent)-1].url)
		}
	})
	t.Run("a json.RawMessage stays as it is", func(t *testing.T) {
		client, service := scripted(t, []responder{status(200, body)})
		var raw json.RawMessage
		_, err := client.Do(t.Context(), http.MethodPost, "pets", json.RawMessage(`{"tag": "good"}`), &raw)
		require.NoError(t, err)
		assert.JSONEq(t, body, string(raw))
		assert.JSONEq(t, `{"tag":"good"}`, service.sent()[0].body)
	})
	t.Run("a []byte is refused by name", func(t *testing.T) {
		client, _ := scripted(t, nil)
		_, in := client.Do(t.Context(), http.MethodPost, "pets", []byte("{}"), nil)
		_, out := client.Do(t.Context(), http.MethodGet, "pets", nil, new([]byte))
		for _, err := range []error{in, out} {
			assert.ErrorContains(t, err, "is a []byte; use json.RawMessage for JSON as it is")
		}
	})
	t.Run("a success that is no JSON is none", func(t *testing.T) {
		page := status(200, "<html>log in", "Content-Type: ", "Content-Type: text/html")
		for _, respond := range []responder{page, status(200, "<html>log in"), status(200, "{}{}")} {
			client, _ := scripted(t, []responder{respond})
			for _, out := range []any{nil, new(json.RawMessage), new(struct{})} {
				_, err := client.Do(t.Context(), http.MethodDelete, "pets/7", nil, out)
				require.ErrorIs(t, err, petstore.ErrInvalidResponse)
				require.ErrorIs(t, err, petstore.ErrOutcomeUnknown)
			}
		}
		client, _ := scripted(t, []responder{status(200, "", "Content-Type: ")})
		_, err := client.Do(t.Context(), http.MethodDelete, "pets/7", nil, nil)
		require.NoError(t, err, "nobody wants a value")
	})
}

// The media type of a success may have parameters, whatever they are.
func TestMediaType(t *testing.T) {
	for value, valid := range map[string]bool{
		"application/json": true, "Application/JSON ; charset=utf-8": true, "application/json; charset": true,
		"application/json;;": true, "text/html": false, "application/jsonx": false, "": false,
	} {
		client, _ := scripted(t, []responder{status(200, "[]", "Content-Type: ", "Content-Type: "+value)})
		assert.Equal(t, valid, list(client) == nil, value)
	}
}

// TestDecoding has bodies of a success that follow the document, and others that nearly do (section 2).
func TestDecoding(t *testing.T) {
	client := func(body string) *petstore.Client {
		client, _ := scripted(t, []responder{func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				return status(201, body)(r)
			}
			return status(200, "["+body+"]")(r)
		}})
		return client
	}
	for body, problem := range map[string]string{
		onePet: "", ` {"id":-1,"name":"","categoryId":0} `: "", `{"id":1,"name":"\u00e9","categoryId":1,"status":null,"tag":{}}`: "",
		`{"name":"x","categoryId":1}`: "id is missing", `{"id":null,"name":"x","categoryId":1}`: "id is missing",
		`{"id":1,"categoryId":1}`: "name is missing", `{"id":1,"name":["x"],"categoryId":1}`: "name is missing",
		`{"id":1,"name":"x"}`: "categoryId is missing", "null": "a pet is not an object", `{"id":"1","name":"x","categoryId":1}`: "id is missing",
		`{"ID":1,"name":"x","categoryId":1}`: "id is missing", `{"id":1.5,"name":"x","categoryId":1}`: "invalid syntax",
		`{"id":9223372036854775808,"name":"x","categoryId":1}`: "value out of range",
		`{"id":1,"name":"x","categoryId":1,"status":1}`:        "status is missing or of a wrong type",
		`{"id":1,"id":2,"name":"x","categoryId":1}`:            "duplicate", "{\"id\":1,\"name\":\"\xff\",\"categoryId\":1}": "invalid UTF-8",
		`{"id":1,"name":"x","categoryId":1}]`: "invalid", `{"id":1,"name":"x","categoryId":1`: "", "[": "",
	} {
		for _, call := range []callFunc{create, list} {
			err := call(client(body))
			valid := problem == "" && strings.HasSuffix(strings.TrimSpace(body), "}")
			require.Equal(t, valid, err == nil, "%s: %v", body, err)
			if err != nil {
				require.ErrorIs(t, err, petstore.ErrInvalidResponse)
				assert.ErrorContains(t, err, problem)
			}
		}
	}
	for _, body := range []string{"null", "{}", `"x"`} {
		none, _ := scripted(t, []responder{status(200, body)})
		require.ErrorIs(t, list(none), petstore.ErrInvalidResponse)
	}
	empty, err := client("").ListPets(t.Context(), petstore.ListPetsParams{})
	require.NoError(t, err)
	assert.NotNil(t, empty.Pets)
}

package fake_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// observedFile writes a file for WithObserved.
func observedFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "observed.json")
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

func TestWithObserved(t *testing.T) {
	t.Run("the server does as the observed service", func(t *testing.T) {
		file := observedFile(t, `{"format":1,"observations":[
		{"key":"order","section":"4.1","question":"?","answer":"descending"},
		{"key":"default-status","answer":"pending"},
		{"key":"limit-zero","answer":"clamped"},
		{"key":"unknown-status","answer":"not seen"}]}`)
		srv := fake.NewTestServer(t, fake.WithObserved(file))
		for _, name := range []string{"Mia", "Rex"} {
			srv.AddPet(petstore.NewPet{Name: name, CategoryID: 1})
		}
		service := viaTransport(t, srv)
		assert.JSONEq(t, `[{"id":2,"name":"Rex","categoryId":1,"status":"pending"}]`,
			service.send(t, request{path: "/pets?limit=0"}).body)
		assert.Equal(t, 400, service.send(t, request{path: "/pets?status=lost"}).status, "it was not seen")
		ignores := fake.WithBehavior(fake.Behavior{InvalidStatus: fake.InvalidIgnore})
		kept := viaTransport(t, fake.NewTestServer(t, ignores, fake.WithObserved(file)))
		assert.Equal(t, 200, kept.send(t, request{path: "/pets?status=lost"}).status, "what was not seen stays")
	})
	t.Run("a bad file is refused", func(t *testing.T) {
		for content, message := range map[string]string{
			`{`: "is no file of observations: unexpected end of JSON input",
			`{"observations":[{"key":"order","answer":"other"}]}`: "its format is 0",
			`{"format":1}`: "there are no observations in it",
			`{"format":1,"observations":[{"key":"order"}]}`:                                   "lacks its key or its answer",
			`{"format":1,"observations":[{"key":"a","answer":"b"},{"key":"a","answer":"c"}]}`: `two observations of "a"`,
		} {
			file := observedFile(t, content)
			_, err := fake.ObservedDifferences(file)
			require.ErrorContains(t, err, message)
			assert.PanicsWithValue(t, "fake: WithObserved: "+unwrapped(err), func() { fake.WithObserved(file) })
		}
		assert.Panics(t, func() { fake.WithObserved(filepath.Join(t.TempDir(), "missing.json")) })
	})
}

func TestObservedDifferences(t *testing.T) {
	file := observedFile(t, `{"format":1,"observations":[
		{"key":"order","answer":"by name"},
		{"key":"limit-zero","answer":"ignored"},
		{"key":"limit-above","answer":"400 Error"},
		{"key":"limit-word","answer":"ignored"},
		{"key":"unknown-status","answer":"empty"},
		{"key":"removal","answer":"410 Error"},
		{"key":"deprecation-headers","answer":"Sunset"},
		{"key":"code-400","answer":"validation_failed"},
		{"key":"code-401","answer":"unauthorized"},
		{"key":"challenge","answer":"not seen"},
		{"key":"of-a-later-release","answer":"yes"}]}`)
	differences, err := fake.ObservedDifferences(file)
	require.NoError(t, err)
	var keys []string
	for _, o := range differences {
		keys = append(keys, o.Key)
	}
	assert.Equal(t, []string{
		"order", "limit-above", "unknown-status", "removal", "deprecation-headers", "code-400", "of-a-later-release",
	}, keys)
}

// unwrapped is an error without the name of the function that it comes from.
func unwrapped(err error) string { return err.Error()[len("fake: ObservedDifferences: "):] }

func TestBehaviorOf(t *testing.T) {
	for answer, want := range map[string]fake.InvalidParam{
		"422 JSON": fake.InvalidReject, "7 animals": fake.InvalidIgnore, "clamped": fake.InvalidClamp,
	} {
		b, _ := fakecontrol.BehaviorOf([]fake.Finding{
			{Key: "limit-zero", Answer: "not seen"}, {Key: "limit-above", Answer: answer},
		})
		assert.Equal(t, want, b.InvalidLimit, answer)
	}
}

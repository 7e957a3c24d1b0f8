package fake_test

import (
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

func TestNewTestServer(t *testing.T) {
	t.Run("closes itself and is silent about success", func(t *testing.T) {
		tb := &recorder{}
		srv := fake.NewTestServer(tb)
		viaMemory(t, srv).list(t)
		tb.end()
		assert.Empty(t, tb.errors.String())
		assert.Empty(t, tb.log.String())
		_, err := viaMemory(t, srv).try(t, request{path: "/pets"})
		assert.Error(t, err)
	})
	t.Run("prints the journal of a failed test", func(t *testing.T) {
		tb := &recorder{}
		srv := fake.NewTestServer(tb, fake.WithClock(func() time.Time { return time.Unix(1_000_000_000, 0) }))
		d := viaMemory(t, srv)
		d.send(t, create("Rex"))
		srv.Advance(1500 * time.Millisecond)
		d.send(t, request{path: "/pets?limit=0&key=" + srv.APIKey()})
		srv.Inject(fake.Fault{Wire: fake.WireClose})
		_, err := d.try(t, request{path: "/pets"})
		require.Error(t, err)
		tb.Errorf("something else")
		tb.end()
		assert.Equal(t, `fake: the server of TestRecorded served 3 requests
	+0s #1 POST /v1/pets "{\"name\":\"Rex\",\"categoryId\":1}" → 201
	+1.5s #2 GET /v1/pets?limit=0&key=[redacted] → 400: listPets: limit is "0"; it must be an integer from 1 to 100 (section 4.1)
	+1.5s #3 GET /v1/pets → no response, by a fault: injected fault by close
`, tb.log.String())
	})
	t.Run("a fault that never struck fails the test", func(t *testing.T) {
		tb := &recorder{}
		srv := fake.NewTestServer(tb)
		srv.Inject(fake.Fault{Operation: petstore.OpCreatePet, Status: 500})
		srv.Inject(fake.Fault{Wire: fake.WireReset, Skip: 5})
		srv.Inject(fake.Fault{Status: 502}).Remove()
		srv.Inject(fake.Fault{Status: 503, Chance: 1e-9, Times: fake.Forever})
		fired := srv.Inject(fake.Fault{Status: 504, Times: 9, Match: func(r *http.Request) bool {
			return r.URL.RawQuery == "limit=1"
		}})
		d := viaMemory(t, srv)
		d.list(t)
		d.send(t, request{path: "/pets?limit=1"})
		assert.Equal(t, 1, fired.Fired())
		tb.end()
		assert.Equal(t, `fake: an injected fault never struck: fault on createPet with status 500; 0 fitting requests came, Skip is 0
fake: an injected fault never struck: fault by reset; 2 fitting requests came, Skip is 5
`, tb.errors.String())
	})
}

// artifactRecorder is a TB with an artifact directory.
type artifactRecorder struct {
	*recorder
	dir string
}

func (r *artifactRecorder) ArtifactDir() string { return r.dir }

// minimalTB is a TB with no method but those of fake.TB.
type minimalTB struct{ fake.TB }

// keepArtifacts sets the flag -artifacts until the end of a test.
func keepArtifacts(t *testing.T, on string) {
	t.Helper()
	f := flag.Lookup("test.artifacts")
	before := f.Value.String()
	t.Cleanup(func() { require.NoError(t, f.Value.Set(before)) })
	require.NoError(t, f.Value.Set(on))
}

func TestArtifacts(t *testing.T) {
	keepArtifacts(t, "true")
	t.Run("hold the journal of a failed test", func(t *testing.T) {
		tb := &artifactRecorder{&recorder{}, t.TempDir()}
		for range 2 {
			srv := fake.NewTestServer(tb, fake.WithKey("second-key", fake.PlanFree))
			d := viaMemory(t, srv)
			d.send(t, create("Rex"))
			d.send(t, request{path: "/pets?limit=5&limit=%73econd-key"})
			srv.Inject(fake.Fault{Status: 502, Body: []byte("\xff")})
			d.list(t)
		}
		fake.NewTestServer(tb) // without requests, and so without a file
		tb.Errorf("something else")
		tb.end()
		files, err := filepath.Glob(filepath.Join(tb.dir, "petstore-fake-*.har"))
		require.NoError(t, err)
		require.Len(t, files, 2)
		assert.Contains(t, tb.log.String(), "fake: the whole journal is in "+files[0])
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		assert.NotContains(t, string(text), "econd-key")
		assert.True(t, json.Valid(text))
		for _, part := range []string{
			`"url":"http://petstore-fake/v1/pets"`, `"text":"{\"name\":\"Rex\",\"categoryId\":1}"`, `"status":201`,
			`"mimeType":"application/json"`, `"value":"[redacted]"`, `limit is given twice`, `"encoding":"base64"`, `"text":"/w=="`,
		} {
			assert.Contains(t, string(text), part)
		}
	})
	t.Run("are not written if nothing keeps them", func(t *testing.T) {
		keepArtifacts(t, "false")
		tb := &artifactRecorder{&recorder{}, t.TempDir()}
		viaMemory(t, fake.NewTestServer(tb)).list(t)
		tb.Errorf("something else")
		tb.end()
		assert.NotContains(t, tb.log.String(), "the whole journal")
		files, err := os.ReadDir(tb.dir)
		require.NoError(t, err)
		assert.Empty(t, files)
	})
	t.Run("are not required", func(t *testing.T) {
		for name, wrap := range map[string]func(*recorder) fake.TB{
			"no method":           func(r *recorder) fake.TB { return minimalTB{r} },
			"nil testing.TB":      func(r *recorder) fake.TB { return r },
			"a missing directory": func(r *recorder) fake.TB { return &artifactRecorder{r, "missing"} },
		} {
			t.Run(name, func(t *testing.T) {
				tb := &recorder{}
				srv := fake.NewTestServer(wrap(tb))
				viaMemory(t, srv).list(t)
				tb.Errorf("something else")
				tb.end()
				assert.Contains(t, tb.log.String(), "#1 GET /v1/pets → 200")
				assert.NotContains(t, tb.log.String(), "the whole journal")
				missing := strings.Contains(tb.log.String(), "fake: the journal could not be written: ")
				assert.Equal(t, name == "a missing directory", missing)
			})
		}
	})
}

// TestArchiveMemory bounds what an archive of the journal allocates beside it, once the keys are out
// of it: nothing is copied.
func TestArchiveMemory(t *testing.T) {
	srv := fakecontrol.New("", nil, fake.WithPlan(fake.Enterprise(0, 0)))
	defer srv.Close()
	d := viaMemory(t, srv.Server)
	for _, body := range []string{"a pet ", `\u0041 "`, `a\/`, "😀", "\xff ", fake.DefaultAPIKey + " "} {
		srv.Inject(fake.Fault{Body: []byte(strings.Repeat(body, 1<<20/len(body))), Times: 8})
		for range 8 {
			d.list(t)
		}
	}
	requests := func(yield func(fake.Request) bool) {
		for seq := range 48 {
			if r, ok := srv.Request(seq + 1); !ok || !yield(r) {
				return
			}
		}
	}
	var first strings.Builder
	require.NoError(t, srv.WriteHAR(&first, "http://x", requests))
	assert.NotContains(t, first.String(), fake.DefaultAPIKey)
	assert.Equal(t, 8*(1<<20/(len(fake.DefaultAPIKey)+1)), strings.Count(first.String(), "[redacted] "))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, srv.WriteHAR(io.Discard, "http://x", requests))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "48 MiB of bodies")
}

package fake_test

import (
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

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
	if f == nil {
		t.Skip("this release of Go has no artifacts")
	}
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
		var archive struct {
			Log struct {
				Version string
				Entries []struct {
					Request struct {
						Method, URL string
						QueryString []struct{ Name, Value string }
						PostData    struct{ Text string }
					}
					Response struct {
						Status  int
						Content struct{ Text, Encoding, MimeType string }
					}
					Comment string
				}
			}
		}
		require.NoError(t, json.Unmarshal(text, &archive))
		assert.Equal(t, "1.2", archive.Log.Version)
		e := archive.Log.Entries
		require.Len(t, e, 3)
		assert.Equal(t, "http://petstore-fake/v1/pets", e[0].Request.URL)
		assert.JSONEq(t, `{"name":"Rex","categoryId":1}`, e[0].Request.PostData.Text)
		assert.Equal(t, 201, e[0].Response.Status)
		assert.Equal(t, "application/json", e[0].Response.Content.MimeType)
		assert.Equal(t, "[redacted]", e[1].Request.QueryString[1].Value)
		assert.Contains(t, e[1].Comment, "limit is given twice")
		assert.Equal(t, "base64", e[2].Response.Content.Encoding)
		assert.Equal(t, "/w==", e[2].Response.Content.Text)
	})
	t.Run("are not written if nothing keeps them", func(t *testing.T) {
		keepArtifacts(t, "false")
		tb := &artifactRecorder{&recorder{}, t.TempDir()}
		viaTransport(t, fake.NewTestServer(tb)).list(t)
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
				viaTransport(t, srv).list(t)
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
	d := viaTransport(t, srv.Server)
	for _, body := range []string{"a pet ", `\u0041 "`, `a\/`, "\xff ", fake.DefaultAPIKey + " "} {
		srv.Inject(fake.Fault{Body: []byte(strings.Repeat(body, 1<<20/len(body))), Times: 8})
		for range 8 {
			d.list(t)
		}
	}
	requests := func(yield func(fake.Request) bool) {
		for seq := range 40 {
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
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "40 MiB of bodies")
}

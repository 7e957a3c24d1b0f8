package fake_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// artifactRecorder is a TB with an artifact directory.
type artifactRecorder struct {
	*recorder
	dir string
}

func (r *artifactRecorder) ArtifactDir() string { return r.dir }

// minimalTB is a TB with no method but those of fake.TB.
type minimalTB struct{ fake.TB }

func TestArtifacts(t *testing.T) {
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

func TestWriteHAR(t *testing.T) {
	err := fake.WriteHAR(brokenWriter{}, "http://x", slices.Values([]fake.Request{{Path: "*"}, {Path: "http://other/v1"}}))
	require.EqualError(t, err, "fake: WriteHAR: disk full")
	var b strings.Builder
	one := fake.Request{Path: "/v1/pets", Body: []byte("a body")}
	err = fake.WriteHAR(&b, "http://x", func(yield func(fake.Request) bool) {
		for i := range 3 {
			assert.Equal(t, i, strings.Count(b.String(), "a body"), "each is written before the next is read")
			yield(one)
		}
	})
	require.NoError(t, err)
	assert.True(t, json.Valid([]byte(b.String())))
	b.Reset()
	require.NoError(t, fake.WriteHAR(&b, "http://x", slices.Values([]fake.Request(nil))))
	assert.Contains(t, b.String(), `"entries":[]`)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

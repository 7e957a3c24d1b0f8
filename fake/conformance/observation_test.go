package conformance

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// observeFake observes the fake with options, from inside a bubble.
func observeFake(t *testing.T, opts ...fake.Option) Observations {
	t.Helper()
	_, s := open(t, breakage{}, append([]fake.Option{catalogue(), fake.WithPlan(fake.PlanFree)}, opts...)...)
	list, err := s.observe()
	require.NoError(t, err)
	return list
}

// answers returns the answers by their keys, without those that were not seen.
func (o Observations) answers() map[string]string {
	answers := make(map[string]string)
	for _, one := range o {
		if one.Answer != Unseen {
			answers[one.Key] = one.Answer
		}
	}
	return answers
}

// written writes the observations and returns the name of the file.
func (o Observations) written(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "observed.json")
	require.NoError(t, o.WriteFile(file))
	return file
}

func TestObserve(t *testing.T) {
	t.Run("its result makes the fake behave like the service", func(t *testing.T) {
		for name, variant := range fake.Variants() {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					observed := observeFake(t, variant)
					file := observed.written(t)
					assert.Equal(t, observed, observeFake(t, fake.WithObserved(file)))
					differences, err := fake.ObservedDifferences(file)
					require.NoError(t, err)
					assert.Empty(t, differences)
					behavior, rest := observed.Behavior()
					assert.Equal(t, observed, observeFake(t, fake.WithBehavior(behavior)))
					assert.Empty(t, rest)
				})
			})
		}
	})
	t.Run("sees whether getPet is gone", func(t *testing.T) {
		for _, removal := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				later := fake.WithClock(func() time.Time { return time.Now().AddDate(31, 0, 0) })
				behavior := fake.WithBehavior(fake.Behavior{Removal: removal, DeprecationHeaders: true})
				observed := observeFake(t, later, behavior)
				want := map[bool]string{false: "accepted", true: "404 Error"}
				assert.Equal(t, want[removal], observed.answers()["removal"])
				assert.Equal(t, observed, observeFake(t, later, fake.WithObserved(observed.written(t))))
			})
		}
	})
	// All choices of the fake but the removal of getPet can be seen from outside.
	t.Run("the fake answers every question", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			full := observeFake(t)
			_, s := politely(t)
			empty, err := s.observe()
			require.NoError(t, err)
			for _, one := range full {
				if one.Key != "removal" && one.Key != "empty-list" {
					assert.NotEqual(t, Unseen, one.Answer, one.Key)
				}
			}
			assert.Equal(t, "[]", empty.answers()["empty-list"])
			assert.NotContains(t, empty.answers(), "retry-after", "only a destructive run draws a 429")
			assert.NotContains(t, empty.answers(), "empty-name", "only a destructive run adds such an animal")
		})
	})
	t.Run("questions have unique keys", func(t *testing.T) {
		keys := make(map[string]bool)
		for _, p := range probes() {
			keys[p.key] = true
			assert.Regexp(t, `^[a-z0-9-]+ \d(\.\d)?$`, p.key+" "+p.section)
		}
		assert.Len(t, keys, len(probes()))
	})
	t.Run("fails if the service is down", func(t *testing.T) {
		srv := fake.NewServer()
		srv.Close()
		_, err := Observe(t.Context(), Target{
			BaseURL: "http://petstore.example/v1", APIKey: srv.APIKey(),
			HTTPClient: &http.Client{Transport: srv.Transport()},
		})
		assert.ErrorContains(t, err, "conformance: observing other-path: the service did not answer GET /no-such-path")
	})
}

func TestWriteFile(t *testing.T) {
	list := Observations{{Key: "order", Section: "4.1", Question: "In which order?", Answer: "ascending"}}
	text, err := os.ReadFile(list.written(t))
	require.NoError(t, err)
	assert.True(t, json.Valid(text))
	assert.Equal(t, `{
  "format": 1,
  "observations": [
    {
      "key": "order",
      "section": "4.1",
      "question": "In which order?",
      "answer": "ascending"
    }
  ]
}
`, string(text))
	assert.ErrorContains(t, list.WriteFile(t.TempDir()), "conformance: observations: ")
}

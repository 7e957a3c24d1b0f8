package spec

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

func TestEveryVariantOfTheFakeCanBeNamed(t *testing.T) {
	t.Parallel()
	for name, variant := range fake.Variants() {
		behavior, err := ParseBehavior(name)
		require.NoError(t, err, name)
		assert.Equal(t, transcript(t, variant), transcript(t, fake.WithBehavior(behavior)), name)
	}
}

func TestEveryBehaviourChangesWhatTheFakeDoes(t *testing.T) {
	t.Parallel()
	ordinary := transcript(t)
	for _, c := range Choices() {
		for i, level := range c.Levels {
			behavior, err := ParseBehavior(c.Name + "=" + level)
			require.NoError(t, err)
			got := transcript(t, fake.WithBehavior(behavior))
			assert.Equal(t, i == 0, got == ordinary, "%s=%s", c.Name, level)
		}
	}
}

// transcript is what a service answers to requests that meet every point which the document leaves
// open. It begins in the last seconds of the 4th of December 2030, and ends after its midnight.
func transcript(t *testing.T, options ...fake.Option) string {
	t.Helper()
	now := time.Date(2030, 12, 4, 23, 59, 20, 0, time.UTC)
	options = append(options,
		fake.WithPlan(fake.Enterprise(9, 0)), fake.WithClock(func() time.Time { return now }))
	srv := fake.NewServer(options...)
	defer srv.Close()
	var b strings.Builder
	for range 2 {
		for i := range 6 {
			exchange(t, &b, srv, http.MethodPost, "/v1/pets", fmt.Sprintf(`{"name":"%d","categoryId":1}`, i))
		}
		for _, path := range []string{"", "?limit=0", "?limit=200", "?status=gone", "/1", ""} {
			now = now.Add(5 * time.Second)
			exchange(t, &b, srv, http.MethodGet, "/v1/pets"+path, "")
		}
		now = now.Add(25 * time.Second)
	}
	return b.String()
}

func exchange(t *testing.T, b *strings.Builder, srv *fake.Server, method, path, body string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+fake.DefaultAPIKey)
	w := httptest.NewRecorder()
	srv.ServeHTTP(w, r)
	fmt.Fprintln(b, method, path, w.Code, w.Header(), w.Body)
}

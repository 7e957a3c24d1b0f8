package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admintest"
)

func TestFront(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	for accept, html := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/*": false, "application/json, ,,;=": false,
		"text/html": true, "Text/HTML; q=0.5, */*": true,
	} {
		r := admintest.Request(t, "GET", "/_fake/", "")
		r.Header.Set("Accept", accept)
		w := i.send(r)
		assert.Equal(t, http.StatusOK, w.Code, accept)
		assert.Equal(t, html, strings.HasPrefix(w.Header().Get("Content-Type"), "text/html"), accept)
		assert.Equal(t, !html, json.Valid(w.Body.Bytes()), accept)
		assert.Equal(t, "Accept", w.Header().Get("Vary"))
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	long := strings.Repeat("ä", 3_000)
	for range 105 {
		i.object("POST", "/_fake/pets", `{"name":"`+long+`","categoryId":1}`)
		i.object("POST", "/_fake/faults", `{"status":500,"skip":1000,"message":"`+long+`"}`)
	}
	text := i.call("GET", "/_fake/events", "").Body.String()
	assert.Less(t, len(text), 300<<10)
	assert.Contains(t, i.part("pets"), "The last 100 of 105")
	assert.Contains(t, i.part("strip"), "100 faults active")
}

// part returns a part of the page as the stream of events sends it.
func (i testInstance) part(name string) string {
	i.t.Helper()
	_, data, _ := strings.Cut(i.call("GET", "/_fake/events", "").Body.String(), "data: ")
	var event struct{ State map[string]string }
	require.NoError(i.t, json.NewDecoder(strings.NewReader(data)).Decode(&event))
	require.Contains(i.t, event.State, name)
	return event.State[name]
}

func TestTraffic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestInstance(t, "-plan", "enterprise:3,0")
		for range 5 {
			i.call("GET", "/v1/pets", "")
		}
		assert.Contains(t, i.part("graph"), `data-text="3 × 2xx, 2 × 429"`)
		assert.Contains(t, i.part("graph"), "0 of 3 left")
		assert.Contains(t, i.part("legend"), `<span class="limited">429 2</span>`)

		i.object("POST", "/_fake/clock", `{"advance":"2m"}`)
		i.call("GET", "/v1/pets", "")
		assert.Equal(t, 2, strings.Count(i.part("graph"), "data-at="))
		assert.Contains(t, i.part("graph"), "2 of 3 left")
		time.Sleep(61 * time.Second)
		assert.Contains(t, i.part("graph"), "3 of 3 left", "the window has ended")
		i.object("POST", "/_fake/clock", `{"advance":"24h"}`)
		assert.NotContains(t, i.part("graph"), "data-at=")
	})
}

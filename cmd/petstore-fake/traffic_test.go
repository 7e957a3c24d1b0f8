package main

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

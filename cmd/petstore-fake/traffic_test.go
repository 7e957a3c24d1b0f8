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

// shownTraffic is the traffic as the stream of events sends it.
type shownTraffic []struct {
	Start int64
	Count []int // 2xx, 4xx, 429, 5xx, none
}

func (i testInstance) traffic() (shown shownTraffic, text string) {
	i.t.Helper()
	_, data, _ := strings.Cut(i.call("GET", "/_fake/events", "").Body.String(), "data: ")
	var event struct{ State map[string]json.RawMessage }
	require.NoError(i.t, json.NewDecoder(strings.NewReader(data)).Decode(&event))
	require.NoError(i.t, json.Unmarshal(event.State["traffic"], &shown))
	return shown, string(event.State["traffic"])
}

func TestTraffic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestInstance(t, "-plan", "enterprise:3,0")
		for range 5 {
			i.call("GET", "/v1/pets", "")
		}
		shown, _ := i.traffic()
		require.Len(t, shown, 1)
		assert.Equal(t, time.Now().Unix(), shown[0].Start)
		assert.Equal(t, []int{3, 0, 2, 0, 0}, shown[0].Count)

		i.object("POST", "/_fake/clock", `{"advance":"2m"}`)
		i.call("GET", "/v1/pets", "")
		shown, _ = i.traffic()
		assert.Len(t, shown, 2)
		i.object("POST", "/_fake/clock", `{"advance":"24h"}`)
		_, text := i.traffic()
		assert.Equal(t, "[]", text)
	})
}

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
type shownTraffic struct {
	Slots []struct {
		Start             int64
		Requests, Limited int
	}
	Waits []struct{ From, Until time.Time }
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
		require.Len(t, shown.Slots, 1)
		assert.Equal(t, []any{time.Now().Unix(), 5, 2},
			[]any{shown.Slots[0].Start, shown.Slots[0].Requests, shown.Slots[0].Limited})
		require.Len(t, shown.Waits, 1, "one wait, whose end came in three responses")
		assert.Equal(t, time.Now().UTC(), shown.Waits[0].From)
		assert.Equal(t, time.Now().Add(time.Minute).UTC(), shown.Waits[0].Until)

		i.object("POST", "/_fake/clock", `{"advance":"2m"}`)
		i.call("GET", "/v1/pets", "")
		shown, _ = i.traffic()
		assert.Len(t, shown.Slots, 2)
		i.object("POST", "/_fake/clock", `{"advance":"24h"}`)
		_, text := i.traffic()
		assert.Contains(t, text, `"slots":[],"waits":[]`)
	})
}

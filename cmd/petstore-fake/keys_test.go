package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	t.Run("of the flag have their plans and come first", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t, "-key", "first-key-0001=enterprise:1,0", "-key", "second-key", "-plan", "free")
		for key, want := range map[string]string{"first-key-0001": "1", "second-key": "60"} {
			w := i.callAs(key, "GET", "/v1/pets", "")
			assert.Equal(t, 200, w.Code)
			assert.Equal(t, want, w.Header().Get("X-RateLimit-Limit"))
		}
		assert.Equal(t, 401, i.status("GET", "/v1/pets", ""), "the default key is replaced")
		keys := list(t, i.object("GET", "/_fake/keys", ""), "keys")
		assert.EqualValues(t, 1, keys[0]["id"])
		assert.Equal(t, "fir…", keys[0]["key"])
	})
	t.Run("are added, banned, put on another plan and revoked", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		const key = "team-key-000001"
		get := func() int { return i.callAs(key, "GET", "/v1/pets", "").Code }
		assert.Equal(t, 401, get())
		added := i.object("POST", "/_fake/keys", `{"key":"`+key+`","plan":"enterprise:5,0"}`)
		assert.EqualValues(t, 2, added["id"])
		assert.Equal(t, "tea…", added["key"])
		assert.Equal(t, 200, get())

		state := i.object("GET", "/_fake/keys/2", "")
		assert.Equal(t, "enterprise:5,0", state["plan"])
		minute := state["minute"].(map[string]any)
		assert.EqualValues(t, 1, minute["used"])
		assert.EqualValues(t, 5, minute["limit"])
		assert.EqualValues(t, 4, minute["remaining"])
		assert.Nil(t, state["day"].(map[string]any)["limit"], "no limit")
		assert.Nil(t, state["bannedUntil"])

		banned := i.object("PUT", "/_fake/keys/2/ban", `{"duration":"10m"}`)
		assert.NotNil(t, banned["bannedUntil"])
		assert.Equal(t, 429, get())
		assert.EqualValues(t, 1, i.object("GET", "/_fake/keys/2", "")["limited"])
		assert.Nil(t, i.object("DELETE", "/_fake/keys/2/ban", "")["bannedUntil"])
		assert.Equal(t, 200, get())

		assert.Equal(t, "free", i.object("PUT", "/_fake/keys/2/plan", `{"plan":"Free"}`)["plan"])
		assert.Equal(t, true, i.object("DELETE", "/_fake/keys/2", "")["revoked"])
		assert.Equal(t, 401, get())
		assert.Equal(t, false, i.object("POST", "/_fake/keys", `{"key":"`+key+`","plan":"pro"}`)["revoked"])
		assert.Equal(t, 200, get())
		keys := list(t, i.object("GET", "/_fake/keys", ""), "keys")
		require.Len(t, keys, 2)
		assert.Equal(t, fake.DefaultAPIKey, keys[0]["key"])
	})
}

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/internal/fakecontrol"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	t.Run("are injected, listed and removed", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t)
		one := i.object("POST", "/_fake/faults", `{"status":503,"times":2,"operation":"listPets"}`)
		assert.EqualValues(t, 1, one["id"])
		two := i.object("POST", "/_fake/faults", `{"wire":"stall","times":"forever","key":"some-other-key"}`)
		assert.Equal(t, "som…", two["key"])
		assert.Equal(t, 503, i.status("GET", "/v1/pets", ""))

		faults := list(t, i.object("GET", "/_fake/faults", ""), "faults")
		require.Len(t, faults, 2)
		assert.EqualValues(t, 1, faults[0]["fired"])
		assert.Equal(t, true, faults[0]["active"])
		assert.EqualValues(t, 503, faults[0]["status"])
		assert.EqualValues(t, 0, faults[1]["fired"])
		assert.Equal(t, "forever", faults[1]["times"])

		assert.Equal(t, 503, i.status("GET", "/v1/pets", ""))
		assert.Equal(t, false, list(t, i.object("GET", "/_fake/faults", ""), "faults")[0]["active"])
		assert.Equal(t, 204, i.status("DELETE", "/_fake/faults/2", ""))
		assert.Len(t, list(t, i.object("GET", "/_fake/faults", ""), "faults"), 1)
		i.object("POST", "/_fake/faults", `{"status":500}`)
		assert.Equal(t, 204, i.status("DELETE", "/_fake/faults", ""))
		assert.Empty(t, list(t, i.object("GET", "/_fake/faults", ""), "faults"))
		assert.Equal(t, 200, i.status("GET", "/v1/pets", ""))
	})
	t.Run("show every field", func(t *testing.T) {
		t.Parallel()
		i := newTestInstance(t, "-fault", `operation=createPet,key=fake-api-key,skip=1,times=3,chance=0.5,`+
			`delay=1s,after-commit,status=500,code=c,message=m,retry-after=7,header=X-A: b,header=Date,`+
			`body=text,wire=truncate`)
		assert.JSONEq(t, `{"faults":[{"id":1,"fired":0,"active":true,"operation":"createPet",
		"key":"fake-api-key","skip":1,"times":3,"chance":0.5,"delay":"1s","afterCommit":true,
		"status":500,"code":"c","message":"m","retryAfter":"7","header":{"X-A":["b"],"Date":[]},
		"body":"text","wire":"truncate"}]}`, i.call("GET", "/_fake/faults", "").Body.String())
	})
	// net/http sends a GET again without a word when a connection that it used before breaks with
	// nothing read, and so do clients of other languages.
	t.Run("are seen on a new connection and on a kept one", func(t *testing.T) {
		t.Parallel()
		for _, wire := range fakecontrol.QuickWires() {
			t.Run(string(wire), func(t *testing.T) {
				t.Parallel()
				r, c := start(t, "-log", "text"), keepingClient(t)
				for range 2 {
					_, _, err := do(keepingClient(t), requestTo(t, r.host, "POST", "/_fake/faults", `{"wire":"`+string(wire)+`"}`))
					require.NoError(t, err)
					_, _, err = get(t, c, r.host)
					require.Error(t, err)
					_, body, err := get(t, c, r.host)
					require.NoError(t, err)
					assert.Equal(t, "[]", body)
				}
				for range 4 { // each is logged
					assert.Contains(t, <-r.output.wrote, "msg=request")
				}
			})
		}
	})
}

func TestRandomSeed(t *testing.T) {
	t.Parallel()
	statuses := func(seed string) (all []int) {
		i := newTestInstance(t, "-fault", "status=503,chance=0.5,times=forever", "-random-seed", seed)
		for range 20 {
			all = append(all, i.status("GET", "/v1/pets", ""))
		}
		return all
	}
	first, again := statuses("7"), statuses("7")
	assert.Equal(t, first, again)
	assert.NotEqual(t, first, statuses("8"))
}

func TestFaults_forAKey(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	i.object("POST", "/_fake/keys", `{"key":"second-key-0001","plan":"free"}`)
	i.object("POST", "/_fake/faults", `"status=503,key=#2"`)
	assert.Equal(t, 200, i.call("GET", "/v1/pets", "").Code)
	assert.Equal(t, 503, i.callAs("second-key-0001", "GET", "/v1/pets", "").Code)
	for _, wrong := range []string{"#0", "#3", "#x", "#second-key-0001"} {
		w := i.call("POST", "/_fake/faults", `{"status":503,"key":"`+wrong+`"}`)
		assert.Equal(t, 400, w.Code, wrong)
		assert.NotContains(t, w.Body.String(), "second-key")
	}
	assert.Equal(t, 400, i.call("POST", "/_fake/keys", `{"key":"#1","plan":"free"}`).Code, "a key that looks like an id")
	assert.Equal(t, 400, i.call("POST", "/_fake/faults?key=2", `{"status":503}`).Code, "it would strike all keys")
}

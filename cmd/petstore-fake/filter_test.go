package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestJournalFiltersByStatusClassAndKey(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	i.object("POST", "/_fake/keys", `{"key":"second-key-0001","plan":"enterprise:1,0"}`)
	i.call("GET", "/v1/pets", "")
	for range 2 {
		i.callAs("second-key-0001", "GET", "/v1/pets", "")
	}
	i.callAs("unknown-key", "GET", "/v1/pets", "")
	i.send(request(t, "GET", "/v1/pets", ""))
	i.object("POST", "/_fake/faults", `{"status":503}`)
	i.call("GET", "/v1/pets", "")
	for query, want := range map[string]int{
		"": 6, "status=": 6, "status=2xx": 2, "status=4xx": 3, "status=429": 1, "status=5xx": 1, "status=0": 0,
		"key=1": 2, "key=2": 2, "key=none": 1, "key=unknown": 1, "key=3": 0, "key=": 6, "key=2&status=4xx": 1,
	} {
		assert.EqualValues(t, want, i.object("GET", "/_fake/requests?"+query, "")["total"], query)
	}
	for _, query := range []string{"status=axx", "status=0xx", "status=1000", "status=-1", "key=0", "key=-1", "key=x"} {
		assert.Equal(t, 400, i.status("GET", "/_fake/requests?"+query, ""), query)
	}
	second := list(t, i.object("GET", "/_fake/requests?key=2", ""), "requests")[0]
	assert.Equal(t, "sec…", second["key"])
	assert.EqualValues(t, 2, second["keyId"])
}

func TestKeyOfTheCommandLineIsTheFirst(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t, "-key", "operator-secret")
	i.callAs("operator-secret", "GET", "/v1/pets", "")
	i.object("POST", "/_fake/keys", `{"key":"fake-api-key","plan":"free"}`)
	i.call("GET", "/v1/pets", "")
	requests := list(t, i.object("GET", "/_fake/requests", ""), "requests")
	assert.EqualValues(t, 1, requests[0]["keyId"])
	assert.Equal(t, "ope…", requests[0]["key"])
	assert.EqualValues(t, 2, requests[1]["keyId"])
	assert.Equal(t, "fake-api-key", requests[1]["key"])
}

func TestLatencyRoute(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t, "-latency", "2ms")
	assert.Equal(t, "2ms", i.object("GET", "/_fake/latency", "")["latency"])
	assert.Equal(t, "1s", i.object("PUT", "/_fake/latency", `{"latency":"1s"}`)["latency"])
	assert.Equal(t, "0s", i.object("PUT", "/_fake/latency", `{"latency":"0s"}`)["latency"])
	for _, body := range []string{`{"latency":"-1s"}`, `{"latency":"2h"}`, `{"latency":"x"}`, `{"delay":"1s"}`, `{}`, ``} {
		w := i.call("PUT", "/_fake/latency", body)
		assert.Equal(t, 400, w.Code, body)
		assert.Contains(t, w.Body.String(), `{"error":"`)
	}
}

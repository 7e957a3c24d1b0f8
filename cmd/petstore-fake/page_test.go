package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFront(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	for accept, html := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/*": false, "application/json, ,,;=": false,
		"text/html": true, "Text/HTML; q=0.5, */*": true,
	} {
		r := request(t, "GET", "/_fake/", "")
		r.Header.Set("Accept", accept)
		w := i.send(r)
		assert.Equal(t, http.StatusOK, w.Code, accept)
		assert.Equal(t, html, strings.HasPrefix(w.Header().Get("Content-Type"), "text/html"), accept)
		assert.Equal(t, !html, json.Valid(w.Body.Bytes()), accept)
		assert.Equal(t, "Accept", w.Header().Get("Vary"))
	}
}

func TestPage_bounded(t *testing.T) {
	t.Parallel()
	i := newTestInstance(t)
	long := strings.Repeat("ä", 3_000)
	for range 105 {
		i.call("POST", "/_fake/pets", `{"name":"`+long+`","categoryId":1}`)
		i.call("POST", "/_fake/faults", `{"status":500,"skip":1000,"message":"`+long+`"}`)
	}
	text := i.call("GET", "/_fake/page", "").Body.String()
	assert.Less(t, len(text), 300<<10)
	assert.Contains(t, text, "The last 100 of 105")
	assert.Contains(t, text, "105 faults active")
}

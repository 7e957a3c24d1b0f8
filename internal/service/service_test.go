package service

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRetryAfter(t *testing.T) {
	now := time.Unix(1_000_000_000, 0).UTC()
	for value, want := range map[string]time.Time{
		"30": now.Add(30 * time.Second), "1.5": now.Add(1500 * time.Millisecond), "1e300": now.Add(1 << 32 * time.Second),
		now.Add(time.Hour).Format(http.TimeFormat): now.Add(time.Hour), "Inf": now.Add(1 << 32 * time.Second),
		"": {}, "soon": {}, "0": {}, "-1": {}, "NaN": {},
	} {
		assert.True(t, want.Equal(RetryAfter(value, now)), value)
	}
}

func TestHeaders(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	for value, want := range map[string]int{"0": 0, "60": 60, "": -1, "-1": -1, "many": -1} {
		n, err := Requests(http.Header{"X-Ratelimit-Limit": {value}}, HeaderLimit)
		assert.Equal(t, want >= 0, err == nil, value)
		assert.Equal(t, max(want, 0), n, value)
	}
	for value, ok := range map[string]bool{
		"1000000060": true, "999999999": true, "1031622400": true, "1031622401": false, // 366 days
		"60": false, "1000000060000": false, "": false,
	} {
		_, err := Reset(http.Header{"X-Ratelimit-Reset": {value}}, now)
		assert.Equal(t, ok, err == nil, value)
	}
}

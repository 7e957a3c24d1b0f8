package conformance

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Answers that the fake never gives.

func TestObserveWords(t *testing.T) {
	t.Run("of a body", func(t *testing.T) {
		for body, form := range map[string]string{
			"": "empty", " \n": "empty",
			`{"code":"a","message":"b","status":400}`: "Error",
			`{"message":"b","status":400}`:            "JSON",
			`{"code":"a","status":400}`:               "JSON",
			`{"code":"a","message":"b"}`:              "JSON",
			`{"code":7,"message":"b","status":400}`:   "JSON",
			`{"code":"a","message":"b","status":"4"}`: "JSON",
			"<h1>no</h1>": "HTML",
			"no":          "other",
			"[]":          "other",
		} {
			assert.Equal(t, form, (&exchange{response: []byte(body)}).form(), body)
		}
		html := http.Header{"Content-Type": {"text/html"}}
		assert.Equal(t, "HTML", (&exchange{header: html, response: []byte("no")}).form())
	})
	t.Run("of a window", func(t *testing.T) {
		for _, c := range []struct {
			reset, next int64
			left        time.Duration
			kind        string
		}{
			{120, 180, 30 * time.Second, "aligned"},
			{120, 180, time.Minute, "aligned"},
			{120, 185, time.Minute, "fixed"},
			{125, 180, 58 * time.Second, "fixed"},
			{122, 183, time.Minute, "fixed"},
			{125, 150, 25 * time.Second, "sliding"},
			{120, 145, 57 * time.Second, "sliding"},
		} {
			assert.Equal(t, c.kind, windowKind(c.reset, c.next, c.left), "%+v", c)
		}
	})
	t.Run("of refusals that do not count", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, status := range []int{http.StatusBadRequest, http.StatusNotFound} {
				free := onStatus(status, func(a *response) {
					n, err := strconv.Atoi(a.header.Get(headerRemaining))
					assert.NoError(t, err)
					a.header.Set(headerRemaining, strconv.Itoa(n+1))
				})
				_, s := open(t, free, catalogue())
				observations, err := s.observe()
				require.NoError(t, err)
				answers := observations.answers()
				for _, other := range []int{http.StatusBadRequest, http.StatusNotFound} {
					want := map[bool]string{true: "free", false: "counted"}[other == status]
					assert.Equal(t, want, answers[fmt.Sprintf("counts-%d", other)])
				}
			}
		})
	})
}

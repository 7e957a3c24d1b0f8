package fake

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
)

// content is the part of an archive that holds a body.
type content struct{ Text, Encoding, Comment string }

// bodies returns the bodies of an archive: those of requests, and those of responses.
func bodies(t *testing.T, archive []byte) (requests, responses []content) {
	t.Helper()
	var a struct {
		Log struct {
			Entries []struct {
				Request  struct{ PostData content }
				Response struct{ Content content }
			}
		}
	}
	require.NoError(t, json.Unmarshal(archive, &a))
	for _, e := range a.Log.Entries {
		requests = append(requests, e.Request.PostData)
		responses = append(responses, e.Response.Content)
	}
	return requests, responses
}

func TestArchive(t *testing.T) {
	t.Run("bodies of all lengths and alphabets", func(t *testing.T) {
		for _, unit := range []string{"a", "é", "€", "😀", `"\`, "\x00\n<", "\u2028"} {
			for _, length := range []int{1, 8 << 10, 32<<10 - 1, 32 << 10, 32<<10 + 1, 100_000} {
				text := strings.Repeat(unit, length)
				var b bytes.Buffer
				one := Request{Body: []byte("x" + text), ResponseBody: []byte(text)}
				require.NoError(t, writeArchive(&b, "http://x", slices.Values([]Request{one, one})))
				requests, responses := bodies(t, b.Bytes())
				for i := range 2 {
					require.True(t, requests[i].Text == "x"+text && responses[i].Text == text, "%q × %d", unit, length)
				}
			}
		}
	})
	t.Run("bodies that are not UTF-8", func(t *testing.T) {
		var b bytes.Buffer
		one := Request{Body: []byte("\xff"), ResponseBody: []byte("\xfe")}
		require.NoError(t, writeArchive(&b, "http://x", slices.Values([]Request{one})))
		requests, responses := bodies(t, b.Bytes())
		assert.Equal(t, []content{{Text: "/w==", Comment: "base64"}}, requests)
		assert.Equal(t, []content{{Text: "/g==", Encoding: "base64"}}, responses)
	})
	t.Run("no entries", func(t *testing.T) {
		var b bytes.Buffer
		require.NoError(t, writeArchive(&b, "http://x", slices.Values([]Request(nil))))
		assert.JSONEq(t, `{"log":{"version":"1.2","entries":[],
			"creator":{"name":"petstore-go fake","version":"`+petstore.Version+`"}}}`, b.String())
	})
	t.Run("each is written before the next is read", func(t *testing.T) {
		var b strings.Builder
		require.NoError(t, writeArchive(&b, "http://x", func(yield func(Request) bool) {
			for i := range 3 {
				assert.Equal(t, i, strings.Count(b.String(), "a body"))
				yield(Request{Body: []byte("a body")})
			}
		}))
	})
	t.Run("a broken writer", func(t *testing.T) {
		read := 0
		err := writeArchive(brokenWriter{}, "http://x", func(yield func(Request) bool) {
			for read = 1; yield(Request{Path: "*"}); read++ {
			}
		})
		require.EqualError(t, err, "writing an HTTP Archive: disk full")
		assert.Equal(t, 1, read)
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

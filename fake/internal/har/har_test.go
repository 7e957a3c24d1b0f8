package har_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake/internal/har"
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

func TestWrite(t *testing.T) {
	t.Run("bodies of all lengths and alphabets", func(t *testing.T) {
		for _, unit := range []string{"a", "é", "€", "😀", `"\`, "\x00\n<", "\u2028"} {
			for _, length := range []int{1, 8 << 10, 32<<10 - 1, 32 << 10, 32<<10 + 1, 100_000} {
				text := strings.Repeat(unit, length)
				var b bytes.Buffer
				one := har.Entry{RequestBody: []byte("x" + text), ResponseBody: []byte(text)}
				require.NoError(t, har.Write(&b, "1", "http://x", slices.Values([]har.Entry{one, one})))
				requests, responses := bodies(t, b.Bytes())
				for i := range 2 {
					require.True(t, requests[i].Text == "x"+text && responses[i].Text == text, "%q × %d", unit, length)
				}
			}
		}
	})
	t.Run("bodies that are not UTF-8", func(t *testing.T) {
		var b bytes.Buffer
		one := har.Entry{RequestBody: []byte("\xff"), ResponseBody: []byte("\xfe")}
		require.NoError(t, har.Write(&b, "1", "http://x", slices.Values([]har.Entry{one})))
		requests, responses := bodies(t, b.Bytes())
		assert.Equal(t, []content{{Text: "/w==", Comment: "base64"}}, requests)
		assert.Equal(t, []content{{Text: "/g==", Encoding: "base64"}}, responses)
	})
	t.Run("no entries", func(t *testing.T) {
		var b bytes.Buffer
		require.NoError(t, har.Write(&b, "1", "http://x", slices.Values([]har.Entry(nil))))
		assert.JSONEq(t, `{"log":{"version":"1.2","entries":[],
			"creator":{"name":"petstore-go fake","version":"1"}}}`, b.String())
	})
	t.Run("each is written before the next is read", func(t *testing.T) {
		var b strings.Builder
		require.NoError(t, har.Write(&b, "1", "http://x", func(yield func(har.Entry) bool) {
			for i := range 3 {
				assert.Equal(t, i, strings.Count(b.String(), "a body"))
				yield(har.Entry{RequestBody: []byte("a body")})
			}
		}))
	})
	t.Run("a broken writer", func(t *testing.T) {
		read := 0
		err := har.Write(brokenWriter{}, "1", "http://x", func(yield func(har.Entry) bool) {
			for read = 1; yield(har.Entry{Path: "*"}); read++ {
			}
		})
		require.EqualError(t, err, "writing an HTTP Archive: disk full")
		assert.Equal(t, 1, read)
	})
}

// TestWriteMemory bounds what an archive allocates beside the bodies that it is given.
func TestWriteMemory(t *testing.T) {
	for name, body := range map[string]string{
		"text": "a pet", "escapes": "\\u0041\"\n<%41>", "binary": "\xff\xfe", "long characters": "😀",
	} {
		t.Run(name, func(t *testing.T) {
			const size = 1 << 20
			one := har.Entry{RequestBody: []byte(strings.Repeat(body, size/len(body)))}
			one.ResponseBody = one.RequestBody
			entries := slices.Values(slices.Repeat([]har.Entry{one}, 64)) // 128 MiB
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			require.NoError(t, har.Write(io.Discard, "1", "http://x", entries))
			runtime.ReadMemStats(&after)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size))
		})
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

package petstore_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
)

func TestResponseErrorKeepsNeitherTheKeyNorMegabytes(t *testing.T) {
	t.Parallel()
	const key = "secret-key-0123456789"
	long := strings.Repeat(key+"-", 200_000)
	for name, body := range map[string]string{
		"a long name":     `[{"` + long + `":[}]`,
		"a duplicate":     `[{"` + key + `":1,"` + key + `":2}]`,
		"cut in the key":  `[{"id":1,"name":"` + key[:15],
		"cut in a escape": `[{"id":1,"name":"secret\u002dkey\u002d01`,
	} {
		client, err := petstore.NewClient("https://service.test/v1", key, petstore.WithMaxResponseBytes(64<<20),
			petstore.WithHTTPClient(&http.Client{Transport: &service{responders: []responder{status(200, body)}}}))
		require.NoError(t, err)
		err = list(client)
		bad, ok := errors.AsType[*petstore.ResponseError](err)
		require.True(t, ok, "%s: %v", name, err)
		for cause := error(bad); cause != nil; cause = errors.Unwrap(cause) {
			assert.NotContains(t, cause.Error(), key[:12], name)
			assert.LessOrEqual(t, len(cause.Error()), 512, name)
		}
		assert.NotContains(t, string(bad.Body), key, name)
	}
}

func TestAPIErrorBodyHasNoPartOfTheKey(t *testing.T) {
	t.Parallel()
	const key = "secret-key-0123456789"
	for most := range int64(60) {
		client, err := petstore.NewClient("https://service.test/v1", key, petstore.WithMaxResponseBytes(most+1),
			petstore.WithHTTPClient(&http.Client{Transport: &service{responders: []responder{
				status(400, `{"message":"no such key: `+key+`"}`, "X-Secret-Key-0123456789: "+key),
			}}}))
		require.NoError(t, err)
		_, err = client.CreatePet(t.Context(), newPet())
		refused, ok := errors.AsType[*petstore.APIError](err)
		require.True(t, ok, "%v", err)
		assert.NotContains(t, string(refused.Body), key[:6], most)
		for name, values := range refused.Header {
			assert.NotContains(t, strings.ToLower(name+strings.Join(values, " ")), key[:12])
		}
	}
}

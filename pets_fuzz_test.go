package petstore_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// tapped is a transport that keeps the body of the last request.
type tapped struct {
	http.RoundTripper
	body []byte
}

func (t *tapped) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := req.GetBody()
	if err == nil {
		t.body, _ = io.ReadAll(body)
	}
	return t.RoundTripper.RoundTrip(req)
}

// FuzzNewPet creates pets in the fake. encoding/json, json/v2 and the fake must read the same pet
// from the request. A pet that the document rules out must not be sent.
func FuzzNewPet(f *testing.F) {
	for _, name := range []string{
		"Rex", "", " ", "\x00\x1f\x7f\u0085\u2028", `"\/<>&'`, "\xff", "日本 🐶", "\U0010ffff", "a\xc0\x80", "\ufeff",
	} {
		f.Add(name, int64(3), "available")
	}
	f.Add("Rex", int64(-1<<63), "")
	f.Add("Rex", int64(1<<63-1), "sold")
	f.Add("Rex", int64(0), "adopted\n")
	srv := fake.NewServer(fake.WithPlan(fake.Enterprise(0, 0)), fake.WithJournal(0))
	f.Cleanup(srv.Close)
	tap := &tapped{RoundTripper: srv.Transport()}
	client := srv.Client(petstore.WithHTTPClient(&http.Client{Transport: tap}), petstore.WithLimiter(nil))
	f.Fuzz(func(t *testing.T, name string, category int64, status string) {
		srv.Reset()
		tap.body = nil
		pet := petstore.NewPet{Name: name, CategoryID: category, Status: petstore.PetStatus(status)}
		result, err := client.CreatePet(t.Context(), pet)
		known := status == "" || status == "available" || status == "pending" || status == "sold"
		if name == "" || !utf8.ValidString(name) || !known {
			_, ok := errors.AsType[*petstore.ArgumentError](err)
			require.True(t, ok, "%T", err)
			assert.Nil(t, tap.body, "nothing is sent")
			assertShortLine(t, err)
			return
		}
		require.NoError(t, err)
		assert.Equal(t, petstore.Pet{ID: 1, Name: name, CategoryID: category, Status: pet.Status}, result.Pet)
		var v1, v2 petstore.NewPet
		require.NoError(t, json.Unmarshal(tap.body, &v1))
		require.NoError(t, jsonv2.Unmarshal(tap.body, &v2, jsonv2.RejectUnknownMembers(true)))
		assert.Equal(t, pet, v1)
		assert.Equal(t, pet, v2)
	})
}

// assertShortLine checks that the text of err fits any log: one line of at most 512 bytes of UTF-8,
// without characters that move a cursor or change the reading direction.
func assertShortLine(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	assert.LessOrEqual(t, len(text), 512, "%T", err)
	assert.True(t, utf8.ValidString(text), "%T: %q", err, text)
	unfit := func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	}
	assert.Equal(t, -1, strings.IndexFunc(text, unfit), "%T: %q", err, text)
}

package requestpage

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

// detail returns a request as the page shows it.
func (p testPage) detail(id string) (d shownDetail) {
	p.t.Helper()
	w := p.call("GET", "/_fake/requests/"+id, "")
	require.Equal(p.t, http.StatusOK, w.Code, w.Body)
	require.NoError(p.t, json.Unmarshal(w.Body.Bytes(), &d))
	return d
}

func TestGet(t *testing.T) {
	t.Parallel()
	t.Run("notes say until when a client had to wait, and what it did", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newTestPage(t, fake.DefaultAPIKey, fake.WithPlan(fake.Enterprise(1, 0)))
			for _, pause := range []time.Duration{0, 0, time.Second, time.Hour} {
				time.Sleep(pause)
				p.call("GET", "/v1/pets", "")
			}
			for id, want := range map[string]string{
				"2": "until 00:01:00; the next request with this key came too early, after 1.0 s",
				"3": "until 00:01:00; the next request with this key came after 1h",
			} {
				assert.Equal(t, want, p.detail(id).Notes["Retry-After"])
			}
			assert.Equal(t, "00:01:00, 59.0 s after this response", p.detail("3").Notes["X-Ratelimit-Reset"])
			assert.NotContains(t, p.detail("1").Notes, "Retry-After")
			p.call("GET", "/v1/pets", "")
			assert.Contains(t, p.detail("5").Notes["Retry-After"], "no request with this key came since")
		})
	})
	t.Run("the tries of a call are listed", func(t *testing.T) {
		t.Parallel()
		p := newTestPage(t, fake.DefaultAPIKey)
		p.srv.Inject(fake.Fault{Status: 503})
		p.call("GET", "/v1/pets", "")
		p.call("GET", "/v1/pets", "")
		require.Len(t, p.detail("1").Tries, 2)
		assert.Equal(t, 2, p.detail("2").Row.Try)
		assert.Equal(t, "503", p.detail("2").Tries[0].Status)
	})
	t.Run("a JSON body is laid out with its numbers as they are", func(t *testing.T) {
		t.Parallel()
		p := newTestPage(t, fake.DefaultAPIKey)
		p.call("POST", "/v1/pets", `{"name":"\u00e9","categoryId":9223372036854775807,"categoryId":1}`)
		assert.Equal(t, "{\n  \"name\": \"\\u00e9\",\n  \"categoryId\": 9223372036854775807,\n  \"categoryId\": 1\n}", p.detail("1").BodyText)
		p.call("POST", "/v1/pets", `{"name":`)
		assert.Equal(t, `{"name":`, p.detail("2").BodyText)
	})
	t.Run("a part of a request has a part of the command", func(t *testing.T) {
		t.Parallel()
		p := newTestPage(t, fake.DefaultAPIKey)
		p.call("POST", "/v1/pets", strings.Repeat("\xff", 1<<20))
		whole := p.call("GET", "/_fake/requests/1", "").Body.Len()
		assert.Greater(t, whole, 4<<20)
		assert.Less(t, p.call("GET", "/_fake/requests/1?bytes=16384", "").Body.Len(), 256<<10)
		assert.Greater(t, p.call("GET", "/_fake/requests/1/curl", "").Body.Len(), 4<<20)
		assert.Equal(t, 100, p.call("GET", "/_fake/requests/1/fetch?bytes=100", "").Body.Len())
	})
}

func TestCode(t *testing.T) {
	t.Parallel()
	p := newTestPage(t, fake.DefaultAPIKey)
	p.call("GET", "/v1/pets?limit=5", "")
	for form, want := range map[string]string{"curl": "curl 'http://", "go": "client.ListPets(", "fetch": "await fetch("} {
		w := p.call("GET", "/_fake/requests/1/"+form, "")
		assert.Contains(t, w.Body.String(), want)
		assert.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
		assert.NotContains(t, w.Body.String(), "fake-api-key")
	}
	for path, want := range map[string]int{"1/perl": 404, "2/curl": 404, "x/curl": 404, "1/curl?bytes=x": 400, "1/curl?size=1": 400} {
		assert.Equal(t, want, p.call("GET", "/_fake/requests/"+path, "").Code, path)
	}
}

func TestRepeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTestPage(t, "operator-secret", fake.WithAPIKey("operator-secret"))
		p.callAs("operator-secret", "POST", "/v1/pets?dry=1", `{"name":"Rex","categoryId":1}`)
		p.srv.SetLatency(time.Hour)
		assert.Equal(t, http.StatusNoContent, p.call("POST", "/_fake/requests/1/repeat", "").Code)
		synctest.Wait()
		rows := rowsOf(p)
		require.Len(t, rows, 2)
		assert.True(t, rows[1].Pending)
		assert.Equal(t, "ope… #1", rows[1].Sender)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.Equal(t, "none", rowsOf(p)[1].Status, "nobody waits for ever")
		p.srv.SetLatency(0)
		p.call("POST", "/_fake/requests/1/repeat", "")
		synctest.Wait()
		assert.Equal(t, "201", rowsOf(p)[2].Status)
		assert.Equal(t, "POST /v1/pets?dry=1", rowsOf(p)[2].Method+" "+rowsOf(p)[2].Path)
		assert.Equal(t, http.StatusNotFound, p.call("POST", "/_fake/requests/9/repeat", "").Code)
	})
}

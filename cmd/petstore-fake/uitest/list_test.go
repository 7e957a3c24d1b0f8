package uitest

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFiltersFindAmongAllRequestsAndStandInTheAddress(t *testing.T) {
	p := start(t, "-plan", "enterprise:300,0")
	p.send(http.MethodPost, "/_fake/keys", `{"key":"second-key-0001","plan":"free"}`)
	p.send(http.MethodPost, "/v1/pets", `{"name":"Rex"}`)
	p.list(250) // so that the first one is not on the page
	b := newTab(t)
	b.open(p, "")
	b.until(`document.querySelectorAll("#rows tr").length === 200`)
	b.text("#shown", "The newest 200; the archive has all.")

	b.choose(`#filters [name="operation"]`, "createPet")
	b.until(`document.querySelectorAll("#rows tr").length === 1`)
	b.text("#rows", "categoryId")
	b.text("#rows", "section 4.2")
	assert.Contains(t, value[string](b, "location.search"), "operation=createPet")

	b.choose(`#filters [name="operation"]`, "")
	b.choose(`#filters [name="status"]`, "429")
	b.until(`document.querySelectorAll("#rows tr").length === 0`)
	for range 60 {
		p.pets()
	}
	b.until(`document.querySelectorAll("#rows tr").length === 11`)
	b.choose(`#filters [name="status"]`, "4xx")
	b.until(`document.querySelectorAll("#rows tr").length === 12`)
	b.choose(`#filters [name="key"]`, "2")
	b.until(`document.querySelectorAll("#rows tr").length === 0`)

	b.open(p, "?operation=createPet&status=400&key=1")
	b.until(`document.querySelectorAll("#rows tr").length === 1`)
	assert.Equal(t, "400", value[string](b, `document.querySelector('#filters [name="status"]').value`))

	b.open(p, "?status=418&key=7") // which are not among the choices
	b.text("#shown", "No request that fits.")
	p.send(http.MethodGet, "/v1/pets", "")
	b.text("#legend", "312 requests")
	assert.Zero(t, b.rows())
	assert.Equal(t, "418 7", value[string](b, `["status", "key"].map((n) => document.querySelector("#filters [name=" + n + "]").value).join(" ")`))
}

func TestARequestThatIsOpenShowsItsAnswerWhenItComes(t *testing.T) {
	p := start(t)
	p.send(http.MethodPost, "/_fake/faults", `{"wire":"stall"}`)
	ctx, cancel := context.WithCancel(t.Context())
	stalled := make(chan error, 1)
	go func() { stalled <- p.call(ctx) }()
	b := newTab(t)
	b.open(p, "")
	b.until(`document.querySelector("#rows b.open")`)
	b.click("#rows tr")
	b.text("#detail .what", "open")
	cancel()
	assert.ErrorIs(t, <-stalled, context.Canceled)
	b.text("#detail .what", "none")
	b.text("#detail .why", "fault")
}

// The browser closes a list of choices that are replaced.
func TestTheChoicesOfAFilterStayWhileRequestsCome(t *testing.T) {
	p := start(t)
	b := newTab(t)
	b.open(p, "")
	b.until(`document.querySelectorAll('#filters [name="key"] option').length === 4`)
	b.run(`window.before = [...document.querySelector('#filters [name="key"]').options]`)
	p.list(1)
	p.send(http.MethodPost, "/_fake/keys", `{"key":"second-key-0001","plan":"free"}`)
	b.until(`document.querySelectorAll('#filters [name="key"] option').length === 5`)
	assert.True(t, value[bool](b, `window.before.every((o) => o.isConnected)`))
	assert.Equal(t, ",1,2,none,unknown", value[string](b, `[...document.querySelector('#filters [name="key"]').options].map((o) => o.value).join()`))
}

func TestAClickShowsRequestAndAnswerInFull(t *testing.T) {
	p := start(t)
	b := newTab(t)
	b.open(p, "")
	p.send(http.MethodPost, "/v1/pets?dry=1", `{"name":"it's Rex","categoryId":9223372036854775807}`)
	p.list(1)
	b.until(`document.querySelectorAll("#rows tr").length === 2`)
	b.click("#rows tr:last-child .hint")
	b.until(`document.getElementById("detail").open`)
	for _, want := range []string{
		"Request 1", "201", "POST /v1/pets?dry=1", "key fake-api-key", "Authorization", "Bearer [redacted]",
		`"name": "it's Rex"`, `"categoryId": 9223372036854775807`, "X-Ratelimit-Remaining", `"id": 1`, "52 bytes",
		"$PETSTORE_API_KEY", `--data-raw '{"name":"it'\''s Rex"`,
	} {
		b.text("#detail", want)
	}
	assert.Contains(t, value[string](b, "location.search"), "request=1")

	b.click("#newer")
	b.text("#detail-title", "Request 2")
	b.text("#detail-body", "No body.")
	b.click("#older")
	b.text("#detail-title", "Request 1")
	b.click("#close")
	b.until(`!document.getElementById("detail").open && location.search === ""`)

	b.open(p, "?request=1") // as somebody does who was given the address
	b.until(`document.getElementById("detail").open`)
	b.text("#detail-title", "Request 1")
}

func TestACurlCommandIsCopied(t *testing.T) {
	p := start(t)
	b := newTab(t)
	b.open(p, "")
	p.list(1)
	b.until(`document.querySelectorAll("#rows tr").length === 1`)
	b.allow("clipboard-read", p.origin)
	b.allow("clipboard-write", p.origin)
	b.click("#rows tr")
	b.click("#copy-curl")
	b.text("#detail-message", "Copied")
	assert.Equal(t, "detail-message", value[string](b, `(() => {
		const r = document.getElementById("detail-message").getBoundingClientRect();
		return document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2).id;
	})()`), "the open request would cover it")
	copied := value[string](b, "navigator.clipboard.readText()")
	var shown struct{ Curl string }
	require.NoError(t, json.Unmarshal([]byte(p.send(http.MethodGet, "/_fake/requests/1", "").body), &shown))
	assert.Equal(t, shown.Curl, copied)
	assert.Contains(t, copied, `"Authorization: Bearer $PETSTORE_API_KEY"`)
	assert.NotContains(t, copied, "fake-api-key")
}

func TestALargeBodyIsShownInPart(t *testing.T) {
	p := start(t)
	p.send(http.MethodPost, "/_fake/faults", `{"status":200,"body":"`+string(make40k())+`"}`)
	p.pets()
	b := newTab(t)
	b.open(p, "?request=1")
	b.until(`document.getElementById("detail").open`)
	b.text("#detail", "120,000 bytes")
	b.text("#detail", "The first 65,536 bytes are shown.")
	assert.Equal(t, 65535, value[int](b, `document.querySelector("#detail .body pre").textContent.length * 3`), "whole characters")
}

// make40k returns 40,000 characters of three bytes each.
func make40k() []byte {
	var text []byte
	for range 40_000 {
		text = append(text, "€"...)
	}
	return text
}

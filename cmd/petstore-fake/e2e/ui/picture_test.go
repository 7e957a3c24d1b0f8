package ui

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The size of the README's pictures.
const pictureWidth, pictureHeight = 1280, 800

func TestPage_pictures(t *testing.T) {
	update := os.Getenv("UPDATE_GOLDEN") != "" // as in internal/golden
	addr := "127.0.0.1:0"
	if update {
		addr = "127.0.0.1:4010" // as readers will see it
	}
	p := startAt(t, addr, "-plan", "free", "-seed", filepath.Join("testdata", "pets.json"))
	p.morning()
	b := newTab(t)
	b.size(pictureWidth, pictureHeight)
	call(b, emulation.SetScrollbarsHidden, emulation.SetScrollbarsHiddenParams{Hidden: true})
	b.open(p, "")
	b.text("#rows", "503")
	b.until(`document.querySelectorAll("#graph line").length > 20 && document.querySelectorAll("#faults li").length > 3`)
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		require.NoError(t, err)
		path := filepath.Join("..", "..", "..", "..", "docs", "petstore-fake-"+theme+".png")
		if update {
			require.NoError(t, os.WriteFile(path, shot, 0o644))
		}
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, picture := range [][]byte{shot, kept} {
			size, err := png.DecodeConfig(bytes.NewReader(picture))
			require.NoError(t, err)
			assert.Equal(t, []int{pictureWidth, pictureHeight}, []int{size.Width, size.Height})
		}
	}
}

// morning is what a few minutes of work look like: a job that lists and adds animals, goes on when
// it should wait, and meets faults.
func (p *program) morning() {
	p.t.Helper()
	admin := func(path, body string) {
		require.Less(p.t, p.send(http.MethodPost, path, body).status, 300)
	}
	names := []string{"Biscuit", "Pepper", "Juniper", "Maple", "Otis", "Waffles"}
	for i := range 46 {
		for range 1 + (i*7)%5 + i%3*2 {
			p.send(http.MethodGet, "/v1/pets?status=available&limit=50", "")
		}
		if i%9 == 4 {
			p.send(http.MethodPost, "/v1/pets", fmt.Sprintf(`{"name":%q,"categoryId":%d,"status":"available"}`, names[i/9], 1+i%4))
		}
		admin("/_fake/clock", `{"advance":"5s"}`)
	}
	admin("/_fake/clock", `{"advance":"31s"}`)
	p.list(12)
	admin("/_fake/clock", `{"advance":"30s"}`)
	p.list(6)
	p.send(http.MethodPost, "/v1/pets", `{"name":"Nori"}`)
	p.send(http.MethodGet, "/v1/pets/3", "")
	admin("/_fake/faults", `"wire=truncate; status=503,retry-after=2,after-commit,operation=createPet"`)
	for range 2 {
		p.send(http.MethodGet, "/v1/pets?status=available&limit=50", "")
	}
	for range 2 {
		p.send(http.MethodPost, "/v1/pets", `{"name":"Nori","categoryId":2,"status":"pending"}`)
		<-time.After(30 * time.Millisecond)
	}
	for _, limit := range []int{500, 5} {
		p.send(http.MethodGet, fmt.Sprintf("/v1/pets?limit=%d", limit), "")
	}
	p.send(http.MethodPut, "/_fake/keys/1/plan", `{"plan":"enterprise:25,1000"}`)
	for range 3 {
		p.send(http.MethodGet, "/v1/pets?status=available&limit=50", "")
		<-time.After(400 * time.Millisecond)
	}
	admin("/_fake/faults", `"status=429,retry-after=5,operation=createPet; status=503,chance=0.1,times=forever,for=10m"`)
}

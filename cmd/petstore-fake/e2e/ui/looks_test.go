package ui

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var looks = flag.String("looks", "", "write a picture of each look of the page to this folder")

// look is a state of the page in which it has to be fit to be seen.
type look struct {
	name  string
	setUp func(t *testing.T, p *program, b *tab)
}

// allLooks are the states that a reader meets.
func allLooks() []look {
	return []look{
		{"empty", func(_ *testing.T, p *program, b *tab) {
			b.open(p, "")
			b.text("#shown", "No request yet")
		}},
		{"busy", func(_ *testing.T, p *program, b *tab) {
			b.open(p, "")
			b.until(`document.querySelectorAll("#rows tr").length > 20 && document.querySelectorAll("#faults li").length > 2`)
		}},
		{"detail", func(_ *testing.T, p *program, b *tab) {
			b.open(p, "?request=7")
			b.until(`document.getElementById("detail").open && document.getElementById("code").textContent.length > 9`)
		}},
		{"filtered", func(_ *testing.T, p *program, b *tab) {
			b.open(p, "?violation=true&text=pets")
			b.until(`document.getElementById("fit").textContent.includes(" of ")`)
		}},
		{"forms", func(_ *testing.T, p *program, b *tab) {
			b.open(p, "")
			b.run(`for (const e of document.querySelectorAll("details")) e.open = true`)
			b.run(`document.getElementById("fault").value = "status=1000"`)
			b.click("#fault-form button")
			b.text("#fault-error", "Status is 1000")
			b.consoleErrors() // the status 400
		}},
		{"keyboard", func(_ *testing.T, p *program, b *tab) {
			b.open(p, "")
			b.click("#help")
			b.until(`document.getElementById("keyboard").open`)
		}},
		{"lost", func(_ *testing.T, p *program, b *tab) {
			b.open(p, "")
			b.until(`document.querySelectorAll("#rows tr").length > 20`)
			p.signal(syscall.SIGSTOP)
			b.text(".gone", "No response from the program since") // and stays so: this look is the last
		}},
	}
}

// eachLook calls f for each look, in both themes and some widths.
func eachLook(t *testing.T, widths []int64, f func(t *testing.T, b *tab, name string)) {
	t.Helper()
	empty, full := start(t), full(t)
	b := newTab(t)
	for _, l := range allLooks() {
		p := full
		if l.name == "empty" {
			p = empty
		}
		b.size(1600, 900)
		l.setUp(t, p, b)
		for _, theme := range []string{"light", "dark"} {
			for _, width := range widths {
				b.theme(theme)
				b.size(width, 900)
				b.settle()
				name := fmt.Sprintf("%s-%d-%s", l.name, width, theme)
				b.picture(name)
				f(t, b, name)
			}
		}
	}
}

// settle waits until the page has drawn what it has to draw.
func (b *tab) settle() {
	b.t.Helper()
	value[bool](b, `new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(true), 50)))`)
}

// picture writes a picture of the page, if pictures are asked for.
func (b *tab) picture(name string) {
	b.t.Helper()
	if *looks == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(*looks, name+".png"), shot, 0o600))
}

// full starts a program of which every part of the page has something to show, some of it unwieldy.
func full(t *testing.T) *program {
	t.Helper()
	p := start(t, "-plan", "enterprise:20,100")
	long := strings.Repeat("unbroken", 40)
	admin := func(method, path, body string) {
		require.Less(t, p.send(method, "/_fake/"+path, body).status, 300, path)
	}
	admin(http.MethodPost, "keys", `{"key":"`+long+`","plan":"free"}`)
	p.send(http.MethodPost, "/v1/pets", `{"name":"Rex","categoryId":1,"status":"sold"}`)
	p.send(http.MethodPost, "/v1/pets", `{"name":"`+long+`","categoryId":9223372036854775807}`)
	p.send(http.MethodPost, "/v1/pets", `{"name":"Rex"}`)
	p.send(http.MethodPost, "/v1/pets?"+long+"=1", `{"`+long+`":1,"name":"Rex","categoryId":1}`)
	p.send(http.MethodGet, "/v1/"+long, "")
	admin(http.MethodPost, "faults", `"status=503,retry-after=1,operation=createPet,after-commit; wire=reset,operation=createPet"`)
	for range 3 {
		p.send(http.MethodPost, "/v1/pets", `{"name":"Nori","categoryId":2,"status":"pending"}`)
	}
	admin(http.MethodPost, "faults", `"delay=30ms; wire=truncate"`)
	for range 20 {
		p.send(http.MethodGet, "/v1/pets?status=available&limit=50", "")
		<-time.After(2 * time.Millisecond)
	}
	p.send(http.MethodGet, "/v1/pets/3", "")
	admin(http.MethodPost, "faults", `{"status":503,"operation":"createPet","retryAfter":"`+long+`"}`)
	admin(http.MethodPost, "faults", `"status=500,chance=0.03,times=forever,for=10m,operation=getPet"`)
	admin(http.MethodPut, "keys/1/ban", `{"duration":"10m"}`)
	admin(http.MethodPut, "latency", `{"latency":"250ms"}`)
	admin(http.MethodPost, "clock", `{"advance":"20s"}`)
	return p
}

func TestPage_looks(t *testing.T) {
	if *looks == "" {
		t.Skip("no pictures are asked for")
	}
	eachLook(t, []int64{360, 1024, 1280, 2560}, func(*testing.T, *tab, string) {})
}

package uitest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/stretchr/testify/require"
)

// keys are those of a program with so many of them, each with 20 requests a minute.
func keys(n int) (args, list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("team-key-%06d", i+1))
		args = append(args, "-key", list[i]+"=enterprise:20,0")
	}
	return args, list
}

// storm sends requests of several keys in turn, so many a second, until the test or stop ends it.
func (p *program) storm(rate int, keys ...string) (stop func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second / time.Duration(rate)):
				_ = p.call(ctx, "/v1/pets?status=available&limit=50", keys[i%len(keys)])
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// press presses the mouse on a row for 90 ms and returns the row that was under it.
func (b *tab) pressRow(n int) string {
	b.t.Helper()
	point := value[[]float64](b, fmt.Sprintf(`(() => { const r = document.querySelectorAll("#rows tr")[%d].querySelector(".status").getBoundingClientRect(); return [r.x + 4, r.y + r.height / 2]; })()`, n))
	b.run(`window.under = ""; document.addEventListener("pointerdown", (e) => { window.under = e.target.closest("tr").id; }, {once: true, capture: true})`)
	mouse := func(kind input.DispatchMouseEventType) {
		call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: kind, X: point[0], Y: point[1], Button: input.MouseButtonLeft, ClickCount: 1,
		})
	}
	mouse(input.DispatchMouseEventTypeMousePressed)
	<-time.After(90 * time.Millisecond) // as a reader's finger does
	mouse(input.DispatchMouseEventTypeMouseReleased)
	return value[string](b, "window.under")
}

func TestStorm_clicks(t *testing.T) {
	args, list := keys(3)
	p := start(t, args...)
	b := newTab(t)
	b.size(1280, 800)
	for _, rate := range []int{5, 15, 30, 60} {
		stop := p.storm(rate, list...)
		b.open(p, "")
		b.until(`document.querySelectorAll("#rows tr").length > 12`)
		opened := 0
		for try := range 8 {
			under := b.pressRow(2 + try)
			b.until(`document.getElementById("detail").open`)
			b.text("#held", " new") // which wait while the pointer is there
			if value[string](b, `document.getElementById("detail-title").textContent`) == "Request "+under[1:] {
				opened++
			}
			call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: 5, Y: 5})
			b.run(`document.getElementById("close").click()`)
			b.until(`!document.getElementById("detail").open`)
		}
		stop()
		t.Logf("at %d requests a second %d of 8 clicks opened the row under the pointer", rate, opened)
		require.Equal(t, 8, opened)
	}
}

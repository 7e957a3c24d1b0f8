package uitest

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/stretchr/testify/assert"
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

// wholeRows counts the requests whose rows can be seen from top to bottom, and returns the height of
// the tallest row.
func (b *tab) wholeRows() (whole int, tallest float64) {
	b.t.Helper()
	both := value[[]float64](b, `(() => {
		const boxes = [...document.querySelectorAll("#rows tr")].map((tr) => [tr, tr.getBoundingClientRect()]);
		const top = document.querySelector(".requests thead").getBoundingClientRect().bottom;
		const seen = boxes.filter(([tr, r]) => r.top >= top - 1 && r.bottom <= innerHeight && tr.contains(document.elementFromPoint(r.left + 60, r.bottom - 3)));
		return [seen.length, Math.max(...boxes.map(([, r]) => r.height))];
	})()`)
	return int(both[0]), both[1]
}

func TestStorm_room(t *testing.T) {
	for _, n := range []int{1, 3, 5} {
		args, list := keys(n)
		p := start(t, args...)
		p.send(http.MethodPost, "/_fake/faults", `"status=503,retry-after=1,times=4,skip=30,after-commit; wire=truncate,skip=41"`)
		for i := range 60 * n {
			_ = p.call(t.Context(), "/v1/pets?status=available&limit=50", list[i%n])
		}
		b := newTab(t)
		for _, width := range []int64{1024, 1280, 1920, 2560} {
			for _, query := range []string{"", "?request=25"} {
				b.size(width, 800)
				b.open(p, query)
				b.until(`document.getElementById("detail").open === ` + fmt.Sprint(query != ""))
				whole, tallest := b.wholeRows()
				t.Logf("%d keys, %d px, %q: %d whole rows, the tallest has %.0f px", n, width, query, whole, tallest)
				assert.LessOrEqual(t, tallest, 60.0, "%d keys, %d px, %q", n, width, query)
				if width == 1280 {
					assert.GreaterOrEqual(t, whole, 12, "%d keys, %q", n, query)
				}
				b.picture(fmt.Sprintf("storm-%d-%d-%d", n, width, len(query)))
			}
		}
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

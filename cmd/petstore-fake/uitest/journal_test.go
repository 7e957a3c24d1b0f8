package uitest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/runtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// flood calls listPets so many times, over a few connections at once.
func (p *program) flood(times int) {
	p.t.Helper()
	const workers = 8
	var group sync.WaitGroup
	failed := make([]error, workers)
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < times && failed[worker] == nil; i += workers {
				failed[worker] = p.call(p.t.Context(), "/v1/pets", "fake-api-key")
			}
		})
	}
	group.Wait()
	for _, err := range failed {
		require.NoError(p.t, err)
	}
}

// call sends a GET with a key.
func (p *program) call(ctx context.Context, path, key string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.origin+path, http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// footprint is what a page holds.
type footprint struct {
	nodes int64
	heap  float64 // of JavaScript, in bytes
}

func (b *tab) footprint() footprint {
	b.t.Helper()
	for range 3 { // what finalizers let go, the next round takes
		call(b, heapprofiler.CollectGarbage, cdp.Empty{})
	}
	return footprint{
		call(b, memory.GetDOMCounters, cdp.Empty{}).Nodes, call(b, runtime.GetHeapUsage, cdp.Empty{}).UsedSize,
	}
}

func TestPage_tenThousandRequests(t *testing.T) {
	p := start(t, "-plan", "enterprise:0,0")
	p.flood(10_000)
	b := newTab(t)
	b.open(p, "")
	b.until(`document.querySelectorAll("#rows tr").length === 200`)

	before := b.footprint()
	for range 2 {
		p.flood(5_000)
		b.until(`document.querySelector("#rows tr").id === "r" + ` + p.lastSeq())
	}
	after := b.footprint()
	t.Logf("the page holds %d nodes and %.1f MB; 10,000 requests later %d and %.1f MB",
		before.nodes, before.heap/1e6, after.nodes, after.heap/1e6)
	assert.Equal(t, 200, b.rows())
	assert.Less(t, after.nodes, before.nodes*3/2)
	assert.Less(t, after.heap, 2*before.heap+5e6)
	assert.Less(t, after.nodes, int64(12_000))
}

// lastSeq returns the seq of the last request, as JSON has it.
func (p *program) lastSeq() string {
	p.t.Helper()
	_, after, found := strings.Cut(p.send(http.MethodGet, "/_fake/requests?limit=1", "").body, `"seq":`)
	require.True(p.t, found)
	seq, _, _ := strings.Cut(after, ",")
	return seq
}

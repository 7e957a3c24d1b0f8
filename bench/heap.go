package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"

	"github.com/petstore/petstore-go/bench/internal/canned"
	"github.com/petstore/petstore-go/bench/internal/peer"
	"github.com/petstore/petstore-go/bench/internal/report"
)

// measureHeaps measures what one call on a large body takes. Bodies without an end are for ours alone: the
// others read until memory is gone.
func measureHeaps(ctx context.Context) ([]report.Heap, error) {
	var all []report.Heap
	for _, b := range largeBodies() {
		for i, p := range peer.Peers()[:3] {
			if b.endless && i > 0 {
				break
			}
			h, err := measureHeap(ctx, p, b)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", p.Name, b.name, err)
			}
			all = append(all, h)
		}
	}
	return all, nil
}

func measureHeap(ctx context.Context, p peer.Peer, b largeBody) (report.Heap, error) {
	h := report.Heap{Client: p.Name, Body: b.name, Reference: b.reference}
	call := func() error {
		client, err := p.New(peer.Target{BaseURL: "http://127.0.0.1/v1", Transport: b.transport()})
		if err != nil {
			return err
		}
		_, err = client.Call(ctx, canned.List100)
		if b.endless != (err != nil) {
			return fmt.Errorf("the call came to %w", err)
		}
		return nil
	}
	var err error
	if h.Allocated, err = allocated(call); err != nil {
		return h, err
	}
	for range 5 {
		peak, err := peakHeap(call)
		if err != nil {
			return h, err
		}
		h.Peak = max(h.Peak, peak)
	}
	return h, nil
}

// allocated returns how many bytes f allocates, with the garbage collector off.
func allocated(f func() error) (int64, error) {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := currentUsage()
	err := f()
	return signed(currentUsage().bytes - before.bytes), err
}

// peakHeap returns by how much the heap grows at most while f runs, what is not yet collected included. It
// looks all the time, and so does not miss what lasts longer than a few microseconds.
func peakHeap(f func() error) (int64, error) {
	objects := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() int64 { metrics.Read(objects); return signed(objects[0].Value.Uint64()) }
	runtime.GC()
	runtime.GC() // what pools keep goes with the second
	base := read()
	var done atomic.Bool
	var peak int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for !done.Load() {
			peak = max(peak, read()-base)
			runtime.Gosched()
		}
	})
	err := f()
	done.Store(true)
	wg.Wait()
	return peak, err
}

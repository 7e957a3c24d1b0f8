package ratelimit

import (
	"slices"
	"time"
)

// mostPoints is the largest number of points that are kept: beyond it, the second oldest is
// dropped, so that a window takes little memory whatever its limit.
const mostPoints = 32

// history records how many requests of others a window had counted when its responses came.
type history []point

// point is how many requests of others a window had counted at a time.
type point struct {
	at     time.Time
	others int
}

// add adds what a response shows. Responses may come in another order than that of their requests:
// a number lower than the last one is an older one, and is not taken. While the number stays the
// same, only the time of the last point moves.
func (h *history) add(at time.Time, others int) {
	n := len(*h)
	if n == 0 {
		*h = append(*h, point{at, max(0, others)})
		return
	}
	last := &(*h)[n-1]
	at, others = later(at, last.at), max(others, last.others)
	if n > 1 && others == (*h)[n-2].others {
		last.at = at
		return
	}
	*h = append(*h, point{at, others})
	if n >= mostPoints {
		*h = slices.Delete(*h, 1, 2)
	}
}

// expect returns how many requests others have probably sent since the last response: as many as in
// the same time before it, and half as many more, because processes that start send more.
func (h history) expect(now time.Time) int {
	if len(h) == 0 {
		return 0
	}
	last := h[len(h)-1]
	return int(1.5 * (float64(last.others) - h.at(last.at.Add(last.at.Sub(now)))))
}

// at returns how many requests of others the window had counted at a time. It assumes that they
// came evenly between two responses.
func (h history) at(t time.Time) float64 {
	i := len(h) - 1
	for i > 0 && h[i].at.After(t) {
		i--
	}
	p := h[i]
	if i+1 == len(h) || !p.at.Before(t) {
		return float64(p.others)
	}
	next := h[i+1]
	part := t.Sub(p.at).Seconds() / next.at.Sub(p.at).Seconds()
	return float64(p.others) + part*float64(next.others-p.others)
}

package quota

import "time"

// mostPoints is the number of points after which half of the older ones are dropped, so that a
// window takes little memory whatever its limit, and is known best for the latest time.
const mostPoints = 32

// history has how many requests of others a window had counted, at the times of its responses.
type history struct{ points []point }

type point struct {
	at     time.Time
	others int
}

// add adds what a response shows. Responses come in any order, so that a lower number is an earlier
// one.
func (h *history) add(at time.Time, others int) {
	p := point{at, max(0, others)}
	if n := len(h.points); n > 0 {
		last := h.points[n-1]
		p = point{Later(at, last.at), max(others, last.others)}
	}
	if h.points = append(h.points, p); len(h.points) <= mostPoints {
		return
	}
	kept := h.points[:0]
	for i, p := range h.points {
		if i%2 == 0 || i >= mostPoints/2 {
			kept = append(kept, p)
		}
	}
	h.points = kept
}

// expect returns how many requests others have probably sent since the last response: as many as in
// the same time before it, and half as many more, because processes that start send more.
func (h *history) expect(now time.Time) int {
	if len(h.points) == 0 {
		return 0
	}
	last := h.points[len(h.points)-1]
	return int(1.5 * (float64(last.others) - h.at(last.at.Add(last.at.Sub(now)))))
}

// at returns how many requests of others the window had counted at a time. Between two responses
// they came evenly, as far as known.
func (h *history) at(t time.Time) float64 {
	i := len(h.points) - 1
	for i > 0 && h.points[i].at.After(t) {
		i--
	}
	p := h.points[i]
	if i+1 == len(h.points) || !p.at.Before(t) {
		return float64(p.others)
	}
	next := h.points[i+1]
	return float64(p.others) + float64(next.others-p.others)*t.Sub(p.at).Seconds()/next.at.Sub(p.at).Seconds()
}

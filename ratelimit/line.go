package ratelimit

import (
	"cmp"
	"slices"
)

// line has waiters in the order in which they asked first. Nearly always they come at its
// end and leave at its front.
type line []*waiter

// before compares the places of two waiters.
func (w *waiter) before(other *waiter) int {
	return cmp.Or(w.asked.Compare(other.asked), cmp.Compare(w.order, other.order))
}

// find returns the place of w. Without w, that is where it belongs.
func (l line) find(w *waiter) int {
	place, _ := slices.BinarySearchFunc(l, w, (*waiter).before)
	return place
}

func (l *line) insert(w *waiter) { *l = slices.Insert(*l, l.find(w), w) }

// remove removes w, which is in the line. With 100,000 waiters, it must not move all of them for
// each that leaves at the front.
func (l *line) remove(w *waiter) {
	place := l.find(w)
	if place == 0 {
		(*l)[0] = nil
		*l = (*l)[1:]
		return
	}
	*l = slices.Delete(*l, place, place+1)
}

package queue

import (
	"cmp"
	"iter"
	"slices"
)

// mostInChunk is the number of waiters from which a chunk is halved: with 100,000 waiters, each
// change then moves no more than a few hundred.
const mostInChunk = 512

// line has waiters in the order in which their calls asked first.
type line struct {
	chunks [][]*waiter // none is empty
	length int
}

// before compares the places of two waiters.
func (w *waiter) before(other *waiter) int {
	return cmp.Or(w.asked.Compare(other.asked), cmp.Compare(w.order, other.order))
}

// find returns the chunk of w and its place there. Without w, that is where it belongs.
func (l *line) find(w *waiter) (chunk, place int) {
	chunk, _ = slices.BinarySearchFunc(l.chunks, w, func(c []*waiter, w *waiter) int {
		return c[len(c)-1].before(w)
	})
	if chunk == len(l.chunks) {
		return chunk, 0
	}
	place, _ = slices.BinarySearchFunc(l.chunks[chunk], w, (*waiter).before)
	return chunk, place
}

func (l *line) insert(w *waiter) {
	l.length++
	chunk, place := l.find(w)
	if chunk == len(l.chunks) { // behind all others
		if chunk == 0 {
			l.chunks = append(l.chunks, []*waiter{w})
			return
		}
		chunk--
		place = len(l.chunks[chunk])
	}
	c := slices.Insert(l.chunks[chunk], place, w)
	l.chunks[chunk] = c
	if half := len(c) / 2; len(c) > mostInChunk {
		l.chunks = slices.Insert(l.chunks, chunk+1, slices.Clone(c[half:]))
		clear(c[half:])
		l.chunks[chunk] = c[:half]
	}
}

// remove removes w, which is in the line.
func (l *line) remove(w *waiter) {
	l.length--
	chunk, place := l.find(w)
	l.chunks[chunk] = slices.Delete(l.chunks[chunk], place, place+1)
	if len(l.chunks[chunk]) == 0 {
		l.chunks = slices.Delete(l.chunks, chunk, chunk+1)
	}
}

// ahead returns how many waiters are before the place of w.
func (l *line) ahead(w *waiter) int {
	chunk, n := l.find(w)
	for _, c := range l.chunks[:chunk] {
		n += len(c)
	}
	return n
}

// first returns the first waiter; nil if there is none.
func (l *line) first() *waiter {
	if l.length == 0 {
		return nil
	}
	return l.chunks[0][0]
}

// all yields the waiters that were in the line at the start.
func (l *line) all() iter.Seq[*waiter] {
	return slices.Values(slices.Concat(l.chunks...))
}

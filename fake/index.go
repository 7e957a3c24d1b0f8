package fake

import "math/bits"

// indexLevels suffice for 64^6 members, more than fit into memory.
const indexLevels = 6

// index is an ordered set of small whole numbers: a bit for each number, and above each level of 64
// bits a bit that tells whether any of them is set. Every operation touches one word per level, so
// that finding the few animals of one status costs the same among a million as among a thousand.
type index struct {
	levels [indexLevels][]uint64
}

// set adds i.
func (x *index) set(i int) {
	for l := range x.levels {
		w := i >> 6
		for len(x.levels[l]) <= w {
			x.levels[l] = append(x.levels[l], 0)
		}
		x.levels[l][w] |= 1 << (i & 63)
		i = w
	}
}

// clear removes i, which need not be in the set.
func (x *index) clear(i int) {
	for l := range x.levels {
		w := i >> 6
		if w >= len(x.levels[l]) {
			return
		}
		x.levels[l][w] &^= 1 << (i & 63)
		if x.levels[l][w] != 0 {
			return
		}
		i = w
	}
}

// next returns the smallest member that is not below i, or -1.
func (x *index) next(i int) int {
	for l := range x.levels {
		w := i >> 6
		if w >= len(x.levels[l]) {
			return -1
		}
		if above := x.levels[l][w] >> (i & 63); above != 0 {
			i += bits.TrailingZeros64(above)
			for ; l > 0; l-- {
				i = i<<6 + bits.TrailingZeros64(x.levels[l-1][i])
			}
			return i
		}
		i = w + 1
	}
	return -1
}

// prev returns the largest member that is not above i, or -1.
func (x *index) prev(i int) int {
	i = min(i, len(x.levels[0])<<6-1)
	for l := 0; l < indexLevels && i >= 0; l++ {
		w := i >> 6
		if below := x.levels[l][w] << (63 - i&63); below != 0 {
			i -= bits.LeadingZeros64(below)
			for ; l > 0; l-- {
				i = i<<6 + 63 - bits.LeadingZeros64(x.levels[l-1][i])
			}
			return i
		}
		i = w - 1
	}
	return -1
}

package fake

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnIndexIsAnOrderedSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, size := range []int{1, 64, 65, 5_000, 300_000} {
		var x index
		members := map[int]bool{}
		for range 2_000 {
			i := rng.IntN(size)
			if rng.IntN(3) == 0 {
				x.clear(i)
				delete(members, i)
			} else {
				x.set(i)
				members[i] = true
			}
		}
		var want, up, down []int
		for i := range members {
			want = append(want, i)
		}
		slices.Sort(want)
		for i := x.next(0); i >= 0; i = x.next(i + 1) {
			up = append(up, i)
		}
		for i := x.prev(size + 1_000_000); i >= 0; i = x.prev(i - 1) {
			down = append(down, i)
		}
		slices.Reverse(down)
		assert.Equal(t, want, up)
		assert.Equal(t, want, down)
	}
}

func TestAnEmptyIndexHasNoMembers(t *testing.T) {
	var x index
	x.clear(5)
	assert.Equal(t, -1, x.next(0))
	assert.Equal(t, -1, x.prev(100))
}

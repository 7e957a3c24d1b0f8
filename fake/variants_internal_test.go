package fake

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// pair is two axes with a choice of each.
type pair struct{ axis1, choice1, axis2, choice2 int }

func TestVariantsCoverEveryPairOfChoices(t *testing.T) {
	all := axes()
	missing := make(map[pair]bool)
	for i, a := range all {
		for j := i + 1; j < len(all); j++ {
			for m := range distinct(a) {
				for n := range distinct(all[j]) {
					missing[pair{i, m, j, n}] = true
				}
			}
		}
	}
	for _, b := range variants() {
		for i, a := range all {
			for j := i + 1; j < len(all); j++ {
				delete(missing, pair{i, a.get(&b), j, all[j].get(&b)})
			}
		}
	}
	assert.Empty(t, missing)
}

// distinct returns the number of choices that differ: there is no valid status that an unknown one
// could be clamped to.
func distinct(a axis) int {
	if a.name == "invalid-status" {
		return slices.Index(a.choices, "clamp")
	}
	return len(a.choices)
}

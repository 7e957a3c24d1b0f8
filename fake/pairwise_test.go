package fake

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestThePairsOfAllChoicesAreMet(t *testing.T) {
	n := levels(variantFactors())
	rows := pairwise(n)
	missing := allPairs(n)
	for _, row := range rows {
		cover(missing, row)
	}
	assert.Empty(t, missing)
	assert.GreaterOrEqual(t, len(rows), n[0]*n[1])
}

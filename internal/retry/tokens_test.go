package retry

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTokens(t *testing.T) {
	var b Tokens
	took := func() (n int) {
		for b.Take() {
			n++
		}
		return n
	}
	b.Succeeded()
	assert.Equal(t, 100, took(), "more than full is not possible")
	for range 500 {
		b.Succeeded()
	}
	assert.Equal(t, 50, took(), "ten successes pay for one retry")
	for range 2000 {
		b.Succeeded()
	}
	assert.Equal(t, 100, took())
}

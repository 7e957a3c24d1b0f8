package sim

import (
	"strings"

	"github.com/petstore/petstore-go/fake"
)

// knownMisses returns the cells in which petstore-go is known to fall short of its figures with
// the default seed. A cell that is here and meets its figures fails the test as much as one that
// misses them and is not.
func knownMisses() []string {
	return strings.Fields(`
		no-headers_sliding_60_8     no-headers_sliding_60_64   no-headers_sliding_60_512
	`)
}

// mayMiss reports whether the cell meets its figures or not as chance falls: after a lost answer a
// sliding window may be fuller than it seems.
func mayMiss(c cell) bool { return c.window == fake.WindowSliding && c.byChance() }

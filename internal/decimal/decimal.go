// Package decimal parses numbers that have digits and nothing else.
package decimal

import "math"

// Max is the largest limit of [Parse]: with it, a further digit cannot overflow.
const Max = math.MaxInt64/10 - 1

// Parse parses digits and nothing else, up to most, which is at most [Max]. A
// response has three such numbers and each Pet two; strconv, which also parses signs and other
// bases, takes three times as long.
func Parse[T ~string | ~[]byte](digits T, most int64) (n int64, ok bool) {
	for i := range len(digits) {
		c := digits[i]
		if c < '0' || c > '9' || n > most {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, n <= most && len(digits) > 0
}

package report

import (
	"fmt"
	"slices"
)

// Spread is how the numbers of several rounds lie.
type Spread struct{ Min, Lower, Median, Upper, Max float64 }

// SpreadOf returns the extremes, the quartiles and the median, between neighbours where no number is in
// the right place.
func SpreadOf(numbers []float64) Spread {
	if len(numbers) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(numbers))
	at := func(share float64) float64 {
		place := share * float64(len(sorted)-1)
		below := int(place)
		above := min(below+1, len(sorted)-1)
		return sorted[below] + (place-float64(below))*(sorted[above]-sorted[below])
	}
	return Spread{sorted[0], at(0.25), at(0.5), at(0.75), sorted[len(sorted)-1]}
}

// Ratios returns how own lies to yardstick, round by round.
func Ratios(own, yardstick []int64) Spread {
	var ratios []float64
	for i := range min(len(own), len(yardstick)) {
		ratios = append(ratios, float64(own[i])/float64(yardstick[i]))
	}
	return SpreadOf(ratios)
}

// Median returns the median of whole numbers, rounded down.
func Median(numbers []int64) int64 {
	floats := make([]float64, len(numbers))
	for i, n := range numbers {
		floats[i] = float64(n)
	}
	return int64(SpreadOf(floats).Median)
}

// String is the median with the quartiles.
func (s Spread) String() string {
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Lower, s.Upper)
}

package fake

import (
	"iter"
	"strings"

	petstore "github.com/petstore/petstore-go"
)

// Variants yields behaviours, with a name for each, that together meet every pair of choices which
// the service document leaves open:
//
//	for name, variant := range fake.Variants() {
//		t.Run(name, func(t *testing.T) {
//			srv := fake.NewTestServer(t, variant)
//			...
//
// The first is the default behaviour, named "default". The others are named after the choices in
// which they differ from it, such as "retry-after=date,window=sliding". Names and order are the same
// in every run.
func Variants() iter.Seq2[string, Option] {
	return func(yield func(string, Option) bool) {
		factors := variantFactors()
		for _, row := range pairwise(levels(factors)) {
			var b Behavior
			var words []string
			for f, level := range row {
				factors[f].set(&b, level)
				if level > 0 {
					words = append(words, factors[f].name+"="+factors[f].levels[level])
				}
			}
			name := strings.Join(words, ",")
			if name == "" {
				name = "default"
			}
			if !yield(name, WithBehavior(b)) {
				return
			}
		}
	}
}

// factor is one point on which the document is silent. Its first level is the default.
type factor struct {
	name   string
	levels []string
	set    func(b *Behavior, level int)
}

func variantFactors() []factor {
	statuses := []petstore.PetStatus{"", "available", "pending", "sold"}
	onOff := []string{"off", "on"}
	return []factor{
		{
			"default-status",
			[]string{"none", "available", "pending", "sold"},
			func(b *Behavior, i int) { b.DefaultStatus = statuses[i] },
		},
		{
			"retry-after",
			[]string{"seconds", "date", "absent"},
			func(b *Behavior, i int) { b.RetryAfter = RetryAfterForm(i) },
		},
		{
			"limit-body",
			[]string{"error", "empty", "html"},
			func(b *Behavior, i int) { b.LimitBody = BodyForm(i) },
		},
		{
			"order",
			[]string{"ascending", "descending", "shuffled"},
			func(b *Behavior, i int) { b.Order = Order(i) },
		},
		{
			"invalid-limit",
			[]string{"reject", "ignore", "clamp"},
			func(b *Behavior, i int) { b.InvalidLimit = InvalidParam(i) },
		},
		{
			"window",
			[]string{"fixed", "aligned", "sliding"},
			func(b *Behavior, i int) { b.Window = Window(i) },
		},
		{
			"invalid-status",
			[]string{"reject", "ignore"},
			func(b *Behavior, i int) { b.InvalidStatus = InvalidParam(i) },
		},
		{"removal", onOff, func(b *Behavior, i int) { b.Removal = i == 1 }},
		{"deprecation-headers", onOff, func(b *Behavior, i int) { b.DeprecationHeaders = i == 1 }},
	}
}

func levels(factors []factor) []int {
	n := make([]int, len(factors))
	for i, f := range factors {
		n[i] = len(f.levels)
	}
	return n
}

// pair is two factors with a level for each.
type pair struct{ f, i, g, j int }

// pairwise returns rows of levels such that every pair occurs in one of them. It is greedy: each row
// starts with a pair that is still missing and takes for every other factor the level that meets most
// missing pairs. That is a few rows more than the least, which nobody knows how to find.
func pairwise(levels []int) [][]int {
	missing := allPairs(levels)
	rows := [][]int{make([]int, len(levels))}
	cover(missing, rows[0])
	for _, p := range ordered(levels) {
		if !missing[p] {
			continue
		}
		row := make([]int, len(levels))
		for f := range row {
			row[f] = -1
		}
		row[p.f], row[p.g] = p.i, p.j
		for f := range row {
			if row[f] < 0 {
				row[f] = best(missing, levels, row, f)
			}
		}
		cover(missing, row)
		rows = append(rows, row)
	}
	return rows
}

func allPairs(levels []int) map[pair]bool {
	missing := make(map[pair]bool)
	for _, p := range ordered(levels) {
		missing[p] = true
	}
	return missing
}

// ordered returns all pairs in an order that is the same every time.
func ordered(levels []int) []pair {
	var pairs []pair
	for f := range levels {
		for g := f + 1; g < len(levels); g++ {
			for i := range levels[f] {
				for j := range levels[g] {
					pairs = append(pairs, pair{f, i, g, j})
				}
			}
		}
	}
	return pairs
}

// best returns the level of factor f that meets most missing pairs with what the row has already.
func best(missing map[pair]bool, levels, row []int, f int) int {
	level, most := 0, -1
	for i := range levels[f] {
		met := 0
		for g, j := range row {
			if g != f && j >= 0 && missing[newPair(f, i, g, j)] {
				met++
			}
		}
		if met > most {
			level, most = i, met
		}
	}
	return level
}

// newPair puts the factor that comes first to the front.
func newPair(f, i, g, j int) pair {
	if f > g {
		return pair{g, j, f, i}
	}
	return pair{f, i, g, j}
}

// cover takes the pairs of a row out of those missing.
func cover(missing map[pair]bool, row []int) {
	for f, i := range row {
		for g := f + 1; g < len(row); g++ {
			delete(missing, pair{f, i, g, row[g]})
		}
	}
}

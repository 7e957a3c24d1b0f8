package fake

import "iter"

// Variants yields behaviours, with a name for each, that together cover every pair of choices which
// the service document leaves open:
//
//	for name, variant := range fake.Variants() {
//		t.Run(name, func(t *testing.T) {
//			srv := fake.NewTestServer(t, variant)
//			...
//
// The first is the default behaviour, named "default". The others are named after the choices in
// which they differ from it, such as "retry-after=date,window=sliding". Names and order are the
// same in every run.
func Variants() iter.Seq2[string, Option] {
	return func(yield func(string, Option) bool) {
		for _, b := range variants() {
			if !yield(b.String(), WithBehavior(b)) {
				return
			}
		}
	}
}

// variants returns a pairwise covering array of the axes: each pair of choices is in at least one
// row, which a test checks. 19 rows; 12 is the lower bound, from the axes of four and three
// choices. Each column is an axis in the order of axes, each digit the index of a choice.
func variants() []Behavior {
	rows := []string{
		"0000000000", "0111111111", "0222202210", "1012012001", "1100210211",
		"1201101000", "2021011200", "2102102100", "2210200101", "3000100110",
		"3120011011", "3211212200", "1020100100", "3002201000", "2000002010",
		"0200000100", "0001000000", "0002000000", "0000100200",
	}
	all := make([]Behavior, len(rows))
	for i, row := range rows {
		for column, a := range axesOf(&all[i]) {
			a.set(a.choices[row[column]-'0'])
		}
	}
	return all
}

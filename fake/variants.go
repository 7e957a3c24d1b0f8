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
// which they differ from it, such as "retry-after=date,window=sliding"; [ParseBehavior] reads the
// names. Names and order are the same in every run.
func Variants() iter.Seq2[string, Option] {
	return func(yield func(string, Option) bool) {
		for _, name := range variants() {
			b, _ := ParseBehavior(name) // a test parses all of them
			if !yield(name, WithBehavior(b)) {
				return
			}
		}
	}
}

// variants returns a pairwise covering array of the axes: each pair of choices is in at least one
// row, which a test checks. 19 rows; 12 is the lower bound, from the axes of four and three
// choices.
func variants() []string {
	return []string{
		"default",
		"retry-after=date,limit-body=empty,order=descending,invalid-limit=ignore," +
			"invalid-status=ignore,window=aligned,ban-reset=ban,removal=on," +
			"deprecation-headers=on",
		"retry-after=absent,limit-body=html,order=shuffled,invalid-limit=clamp," +
			"window=sliding,ban-reset=absent,removal=on",
		"default-status=available,limit-body=empty,order=shuffled,invalid-status=ignore," +
			"window=sliding,deprecation-headers=on",
		"default-status=available,retry-after=date,invalid-limit=clamp,invalid-status=ignore," +
			"ban-reset=absent,removal=on,deprecation-headers=on",
		"default-status=available,retry-after=absent,order=descending,invalid-limit=ignore," +
			"window=aligned",
		"default-status=pending,limit-body=html,order=descending,invalid-status=ignore," +
			"window=aligned,ban-reset=absent",
		"default-status=pending,retry-after=date,order=shuffled,invalid-limit=ignore," +
			"window=sliding,ban-reset=ban",
		"default-status=pending,retry-after=absent,limit-body=empty,invalid-limit=clamp," +
			"ban-reset=ban,deprecation-headers=on",
		"default-status=sold,invalid-limit=ignore,ban-reset=ban,removal=on",
		"default-status=sold,retry-after=date,limit-body=html,invalid-status=ignore," +
			"window=aligned,removal=on,deprecation-headers=on",
		"default-status=sold,retry-after=absent,limit-body=empty,order=descending," +
			"invalid-limit=clamp,invalid-status=ignore,window=sliding,ban-reset=absent",
		"default-status=available,limit-body=html,invalid-limit=ignore,ban-reset=ban",
		"default-status=sold,order=shuffled,invalid-limit=clamp,window=aligned",
		"default-status=pending,window=sliding,removal=on",
		"retry-after=absent,ban-reset=ban",
		"order=descending",
		"order=shuffled",
		"invalid-limit=ignore,ban-reset=absent",
	}
}

package fake

import "iter"

// Variants yields.
func Variants() iter.Seq2[string, Option] { return nil }

package requestpage

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// fault is a fault as the page lists it.
type fault struct {
	ID     int
	Text   string
	Fired  int
	Active bool
	Until  time.Time // zero without an end
}

// listFaults returns the last faults of a list, the latest first.
func listFaults(all []fakecontrol.Injection) (list []fault) {
	for _, i := range slices.Backward(all[max(len(all)-maxListed, 0):]) {
		list = append(list, fault{i.ID, shorten(describeFault(i.Fault)), i.Fired(), i.Active, i.Until})
	}
	return list
}

// describeFault says in words which requests a fault strikes, what it does to them, and how often.
// A key is shown as in the journal.
func describeFault(f fake.Fault) string {
	target := f.Operation
	if target == "" {
		target = "any request"
	}
	if f.APIKey != "" {
		target += " with the key " + MaskKey(f.APIKey)
	}
	return target + ": " + fakecontrol.Effect(f) + "; " + howOften(f)
}

// howOften says how many of the requests that fit a fault it strikes.
func howOften(f fake.Fault) string {
	var text string
	chance := f.Chance > 0 && f.Chance < 1
	switch times := max(f.Times, 1); {
	case chance && f.Times == fake.Forever:
		text = "each with a chance of " + percent(f.Chance)
	case chance:
		text = fmt.Sprintf("each with a chance of %s, %d at most", percent(f.Chance), times)
	case f.Times == fake.Forever:
		text = "all of them"
	case times == 1:
		text = "the next one"
	default:
		text = fmt.Sprintf("the next %d", times)
	}
	if f.Skip > 0 {
		text += fmt.Sprintf(", after the first %d", f.Skip)
	}
	if f.For > 0 {
		text += ", for " + words(f.For)
	}
	return text
}

// percent writes a probability with as many digits as it was given.
func percent(p float64) string {
	const digits = 4 // of the 17 that a float64 has, so that 0.07 is not 7.000000000000001 %
	return strconv.FormatFloat(p*100, 'g', digits, 64) + " %"
}

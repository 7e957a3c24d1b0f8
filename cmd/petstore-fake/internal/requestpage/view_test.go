package requestpage

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAHintIsSplitFromItsSections(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]hint{
		"":                          {},
		"no section":                {Text: "no section"},
		"a limit (section 8.1)":     {"a limit", "section 8.1"},
		"both (sections 4.1 and 7)": {"both", "sections 4.1 and 7"},
		"a (b) (section 4); more":   {"a (b); more", "section 4"},
		"in\ntwo lines (section 5)": {"in\ntwo lines", "section 5"},
	} {
		assert.Equal(t, want, splitHint(text))
	}
}

func TestDurationsAreWrittenShort(t *testing.T) {
	t.Parallel()
	for ms, want := range map[float64]string{
		0: "0 µs", 0.0374: "37 µs", 0.9996: "1.0 ms", 1.25: "1.2 ms", 9.96: "10 ms", 999.4: "999 ms", 999.6: "1.00 s", 61_234: "61.23 s",
	} {
		assert.Equal(t, want, tookText(ms))
	}
}

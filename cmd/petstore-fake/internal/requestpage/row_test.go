package requestpage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/fake"
)

func TestSplitHint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"":                          {},
		"no section":                {"no section"},
		"a limit (section 8.1)":     {"a limit", "section 8.1"},
		"both (sections 4.1 and 7)": {"both", "sections 4.1 and 7"},
		"a (b) (section 4); more":   {"a (b); more", "section 4"},
		"in\ntwo lines (section 5)": {"in\ntwo lines", "section 5"},
	} {
		hint, sections := splitHint(text)
		assert.Equal(t, want, [2]string{hint, sections})
	}
}

func TestPlainTimes(t *testing.T) {
	t.Parallel()
	today := time.Date(2030, 12, 4, 23, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"the next one at 2030-12-04T23:59:00Z":         "the next one at 23:59:00",
		"2030-12-05T00:00:00Z, 2030-12-04T01:02:03.5Z": "5\u00a0Dec\u00a02030\u00a000:00:00, 01:02:03",
		"2030-13-05T00:00:00Z":                         "2030-13-05T00:00:00Z",
	} {
		assert.Equal(t, want, plainTimes(text, today))
	}
}

func TestTookText(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 µs", 37_400: "37 µs", 999_600: "1.0 ms", 1_250_000: "1.2 ms", 9_960_000: "10 ms", 999_400_000: "999 ms",
		999_600_000: "1.0 s", 61_234 * time.Millisecond: "61.2 s", 10 * time.Minute: "10m", 90*time.Minute + time.Second: "1h30m1s", 3 * time.Hour: "3h",
	} {
		assert.Equal(t, want, tookText(d))
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	t.Run("every rule has a text", func(t *testing.T) {
		t.Parallel()
		for _, name := range fake.Rules() {
			assert.NotEmpty(t, ruleTexts[name], name)
		}
	})
	t.Run("violations with the same text are one badge", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, []rule{{"unknown field", "a (section 2); b (section 2)"}, {"deprecated", "c (section 4.3)"}}, rules([]fake.Violation{
			{Rule: fake.RuleUnknownField, Section: "2", Detail: "a"},
			{Rule: fake.RuleUnknownField, Section: "2", Detail: "b"},
			{Rule: fake.RuleDeprecated, Section: "4.3", Detail: "c"},
		}))
	})
}

package requestpage

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// rowsOf returns the rows of a page, oldest first.
func rowsOf(p testPage) []row {
	p.t.Helper()
	p.journal.Update(p.feed.generation())
	rows, _ := p.newestRows(nil)
	return rows
}

func TestRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTestPage(t, fake.DefaultAPIKey, fake.WithPlan(fake.Enterprise(1, 0)))
		p.call("GET", "/v1/pets", "")
		p.call("GET", "/v1/pets", "")
		time.Sleep(400 * time.Millisecond)
		p.srv.Inject(fake.Fault{Delay: 2 * time.Second})
		p.call("GET", "/v1/pets", "")
		rows := rowsOf(p)
		require.Len(t, rows, 3)
		assert.Equal(t, row{
			Seq: 3, Day: "2000-01-01", Clock: "00:00:00.400", Since: "+400 ms", Operation: "listPets", Method: "GET",
			Path: "/v1/pets", Sender: "fake-api-key", Status: "429", Kind: "limited", Took: "2.0 s", Try: 2, Tries: 2,
			Fault: "delayed by 2s", Sections: "section 8.1",
			Hint:  "plan Enterprise allows 1 requests per minute, the next one at 00:01:00",
			Rules: []rule{{"early by 59.6 s", "the key came back 59.6s before its Retry-After had passed (section 8.3)"}},
		}, rows[2])
	})
}

package requestpage

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admintest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
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

func TestRules(t *testing.T) {
	t.Parallel()
	t.Run("every rule has a text", func(t *testing.T) {
		t.Parallel()
		for _, name := range fakecontrol.Rules() {
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

func TestKeyText(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "no key", keyText(0, journal.KeyNone))
	assert.Equal(t, "unknown key", keyText(0, journal.KeyUnknown))
	assert.Equal(t, "ope… #2", keyText(2, "ope…"))
}

// rowsOf returns the rows of a page, oldest first.
func rowsOf(p testPage) []row {
	p.t.Helper()
	v, q := p.newView(admintest.Request(p.t, "GET", "/", ""))
	require.NoError(p.t, q.Err)
	rows := v.newest()
	slices.Reverse(rows)
	return rows
}

func TestRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTestPage(t, fake.WithPlan(fake.Enterprise(1, 0)))
		p.call("GET", "/v1/pets", "")
		p.call("GET", "/v1/pets", "")
		time.Sleep(400 * time.Millisecond)
		p.srv.Inject(fake.Fault{Delay: 2 * time.Second})
		p.call("GET", "/v1/pets", "")
		rows := rowsOf(p)
		require.Len(t, rows, 3)
		assert.Equal(t, row{
			Seq: 3, Link: "?request=3", Day: "2000-01-01", Clock: "00:00:00.400", Since: "+400 ms", Operation: "listPets",
			Method: "GET", Path: "/v1/pets", Sender: "fake-api-key", Status: "429", Kind: "limited", Took: "2 s",
			Call: 2, Try: 2, Tries: 2, Fault: "delayed by 2 s", Sections: "section 8.1",
			Hint:  "plan Enterprise allows 1 requests per minute, the next one at 00:01:00",
			Rules: []rule{{"early by 59.6 s", "the key came back 59.6 s before its Retry-After had passed (section 8.3)"}},
		}, rows[2])
	})
}

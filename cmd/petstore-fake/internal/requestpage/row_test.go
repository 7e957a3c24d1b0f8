package requestpage

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/journal"
	"github.com/petstore/petstore-go/fake"
)

func TestRules(t *testing.T) {
	assert.Equal(t, []rule{
		{"ban provoked", "e (section 8.3)"}, {"early by 59.6s", "came back 59.6s before (section 8.3)"},
		{"deprecated", "c (section 4.3)"}, {"unknown name", "a (section 2); b (section 2)"},
	}, rules([]fake.Violation{
		{Rule: fake.RuleUnknownName, Section: "2", Detail: "a"},
		{Rule: fake.RuleDeprecated, Section: "4.3", Detail: "c"},
		{Rule: fake.RuleUnknownName, Section: "2", Detail: "b"},
		{Rule: fake.RuleEarlyRetry, Section: "8.3", Detail: "came back 59.599999983s before"},
		{Rule: fake.RuleBanProvoked, Section: "8.3", Detail: "e"},
	}), "the gravest first, the same text once")
}

func TestRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPage(t, "", fake.WithPlan(fake.Plan{PerMinute: 1}))
		p.call("GET", "/v1/pets", "")
		p.call("GET", "/v1/pets", "")
		time.Sleep(400*time.Millisecond + 17)
		p.srv.Inject(fake.Fault{Delay: 2 * time.Second})
		p.call("GET", "/v1/pets", "")
		p.callAs("unknown-key", "GET", "/v1/pets", "")
		p.Journal.Update()
		var s state
		s.page = p.Page
		s.addRows(journal.Filter{}, map[int]string{1: "fake-api-key"})
		require.Len(t, s.Rows, 4)
		assert.Equal(t, row{
			Seq: 3, Day: "2000-01-01", Clock: "00:00:00.400", Since: "+400ms", Operation: "listPets",
			Method: "GET", Path: "/pets", Sender: "fake-api-key", Status: "429", Kind: "limited", Took: "2s",
			Call: 2, Try: 2, Tries: 2, Fault: "delayed by 2s", Told: true, Earlier: true,
			Hint:  "plan enterprise:1,0 allows 1 requests per minute, the next one at 2000-01-01T00:01:00Z (section 8.1)",
			Rules: []rule{{"early by 59.6s", "the key came back 59.6s before its Retry-After had passed (section 8.3)"}},
		}, s.Rows[1])
		assert.Equal(t, "unknown key", s.Rows[0].Sender)
		assert.False(t, s.OneKey)
		assert.True(t, s.Rows[2].Later)
	})
}

func TestArrange(t *testing.T) {
	rows := []row{{Day: "b", Hint: "x"}, {Day: "b", Hint: "y"}, {Day: "b", Hint: "x"}, {Day: "a"}, {Day: "a", Hint: "x"}}
	arrange(rows)
	var told, days []bool
	for _, r := range rows {
		told, days = append(told, r.Told), append(days, r.NewDay)
	}
	assert.Equal(t, []bool{true, true, false, false, true}, told, "once in a run of refusals")
	assert.Equal(t, []bool{false, false, false, true, false}, days)
}

func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 37_400: "37µs", 999_600: "1ms", 1_250_000: "1.3ms", 9_960_000: "10ms", 998_400_000: "998ms",
		999_600_000: "1s", 58_949 * time.Millisecond: "58.9s", 61_234 * time.Millisecond: "1m1.2s",
		10 * time.Minute: "10m", 90*time.Minute + 1100*time.Millisecond: "1h30m1s", 72 * time.Hour: "72h",
	} {
		assert.Equal(t, want, words(d))
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, count(n))
	}
}

func TestChart(t *testing.T) {
	now := time.Unix(1_900_000_002, 0)
	var all []journal.Summary
	for i, status := range []int{200, 304, 404, 429, 500, 0} {
		all = append(all, journal.Summary{Key: 1 + i%2, Status: status, Ended: now, Reset: time.Unix(1_900_000_060, 0)})
	}
	all = append(all, journal.Summary{Key: 1}) // has no response yet
	c := newChart(all, now.Add(time.Minute), 1)
	assert.Equal(t, []bar{{"fine", 235, 0, 2}, {"refused", 235, 2, 1}, {"limited", 235, 3, 1}, {"failed", 235, 4, 1}, {"lost", 235, 5, 1}}, c.Bars)
	assert.Equal(t, 6, c.Peak)
	assert.Equal(t, map[int64]bool{295: true}, c.Ends)
	assert.Empty(t, newChart(all, now, 1).Ends, "the window has not ended yet")
	assert.Empty(t, newChart(all, now.Add(time.Minute), 3).Ends, "no response of this key")
	assert.Empty(t, newChart(all, now.Add(6*time.Minute), 1).Bars)
	assert.Empty(t, newChart(all, now.Add(-time.Minute), 1).Bars, "the clock was set back")
	for _, unix := range []int64{0, 1, 299, 300} {
		at := time.Unix(unix, 0)
		assert.Len(t, newChart([]journal.Summary{{Ended: at}}, at, 1).Bars, 1, "%d", unix)
	}

	p := newTestPage(t, "")
	p.call("GET", "/v1/pets", "")
	assert.Contains(t, p.parts(""), `<rect class="fine"`)
	p.srv.Advance(time.Minute)
	assert.Regexp(t, `<path class="end" d="M\d+ 0V1">`, p.parts(""))
	p.Journal.Restart()
	assert.NotContains(t, p.parts(""), `<rect class="fine"`)
}

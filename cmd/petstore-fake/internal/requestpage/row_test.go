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

func TestRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPage(t, fake.WithPlan(fake.Plan{PerMinute: 1}))
		p.call("POST", "/v1/pets", "{\n \"name\": \"Rex\", \xff \"categoryId\": 11111111111111111111111111111111111111111}")
		p.call("GET", "/v1/pets", "")
		time.Sleep(400*time.Millisecond + 17)
		p.srv.Inject(fake.Fault{Delay: 2 * time.Second})
		p.call("GET", "/v1/pets", "")
		s := state{page: p.Page, State: p.Journal.Read()}
		s.addRows(journal.Filter{})
		require.Len(t, s.Rows, 3)
		early := s.Rows[0]
		assert.Equal(t, []string{"2000-01-01", "/pets", "429", "limited"}, []string{early.Day(), early.Target(), early.Status(), early.Kind()})
		assert.Equal(t, "delayed by 2s; plan enterprise:1,0 allows 1 requests per minute, the next one at 00:01:00 (section 8.1)", early.Why())
		assert.Equal(t, []rule{{"early by 59.6s", "the key came back 59.6s before its Retry-After had passed (section 8.3)"}}, early.Rules())
		assert.Equal(t, []bool{true, true, true}, []bool{early.Told, early.Earlier, s.Rows[1].Later})
		assert.Equal(t, 2, early.Tries)
		assert.Equal(t, `/pets { "name": "Rex", "categoryId": 11111111111111111111111111…`, s.Rows[2].Target(), "the start of its body")
	})
}

func TestRules(t *testing.T) {
	assert.Equal(t, []rule{
		{"early by 59.6s", "came back 59.6s before (section 8.3)"}, {"deprecated", "c (section 4.3)"}, {"unknown name", "a (section 2); b (section 2)"},
	}, row{Entry: &journal.Entry{Violations: []fake.Violation{
		{Rule: fake.RuleEarlyRetry, Section: "8.3", Detail: "came back 59.599999983s before"},
		{Rule: fake.RuleDeprecated, Section: "4.3", Detail: "c"},
		{Rule: fake.RuleUnknownName, Section: "2", Detail: "a"}, {Rule: fake.RuleUnknownName, Section: "2", Detail: "b"},
	}}}.Rules(), "the same text once")
}

func TestArrange(t *testing.T) {
	at := func(day int, hint string) row {
		r := fake.Request{Hint: hint, StatusCode: 400, Time: time.Date(2030, 1, day, 0, 0, 0, 0, time.UTC)}
		return row{Entry: &journal.Entry{Request: r, First: day * len(hint)}}
	}
	rows := []row{at(2, "x"), at(2, "yy"), at(2, "x"), at(1, ""), at(1, "x")}
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
		0: "<1ms", 999_600: "<1ms", 1_250_000: "1.3ms", 9_960_000: "10ms", 998_400_000: "998ms",
		999_600_000: "1s", 58_949 * time.Millisecond: "58.9s", 61_234 * time.Millisecond: "1m1.2s",
		10 * time.Minute: "10m", 90*time.Minute + 1100*time.Millisecond: "1h30m1s", 72 * time.Hour: "72h",
	} {
		assert.Equal(t, want, words(d))
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, count(n))
	}
}

func TestChart(t *testing.T) {
	now := time.Unix(1_900_000_002, 0)
	one := func(status int, at time.Time) *journal.Entry {
		return &journal.Entry{Request: fake.Request{Key: 1, StatusCode: status}, Ended: at, Reset: time.Unix(1_900_000_060, 0)}
	}
	all := []*journal.Entry{one(0, now), one(500, now), one(429, now), {}} // one has no response yet
	for range 4500 {
		all = append(all, one(200, now.Add(10*time.Second)))
	}
	c := newChart(all, now.Add(time.Minute), 1)
	assert.Equal(t, []bar{{"lost", 235, 918, 82}, {"failed", 235, 869, 49}, {"limited", 235, 835, 34}, {"fine", 245, 0, 1000}},
		c.Bars, "a storm leaves the rest to be seen, and the worst is at the bottom")
	assert.Equal(t, 4500, c.Peak)
	assert.Equal(t, map[int64]bool{295: true}, c.Ends)
	assert.Empty(t, newChart(all, now, 1).Ends, "the window has not ended yet")
	assert.Empty(t, newChart(all, now.Add(time.Minute), 3).Ends, "no response of this key")
	assert.Empty(t, newChart(all, now.Add(6*time.Minute), 1).Bars)
	assert.Empty(t, newChart(all, now.Add(-time.Minute), 1).Bars, "the clock was set back")
	for _, unix := range []int64{0, 1, 299, 300} {
		at := time.Unix(unix, 0)
		assert.Len(t, newChart([]*journal.Entry{one(200, at)}, at, 1).Bars, 1, "%d", unix)
	}
}

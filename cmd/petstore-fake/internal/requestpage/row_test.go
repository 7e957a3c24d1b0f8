package requestpage

import (
	"regexp"
	"strings"
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
		assert.Equal(t, []brokenRule{{fake.RuleEarlyRetry, "the key came back 59.6s before its Retry-After had passed (section 8.3)"}}, early.Rules())
		assert.Equal(t, `/pets { "name": "Rex", "categoryId": 11111111111111111111111111…`, s.Rows[2].Target(), "the start of its body")
	})
}

func TestRules(t *testing.T) {
	assert.Equal(t, []brokenRule{{fake.RuleDeprecated, "until 2030-12-05 00:00:00 (section 4.3)"}, {fake.RuleUnknownName, "a (section 2); b (section 2)"}},
		row{&journal.Entry{Violations: []fake.Violation{
			{Rule: fake.RuleDeprecated, Section: "4.3", Detail: "until 2030-12-05T00:00:00Z"},
			{Rule: fake.RuleUnknownName, Section: "2", Detail: "a"}, {Rule: fake.RuleUnknownName, Section: "2", Detail: "b"},
		}}}.Rules(), "each rule once")
}

// When refusals for one reason follow each other, the reason is shown once. A day is shown where it
// changes.
func TestParts_above(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPage(t)
		for _, path := range []string{"/v1/x", "/v1/x", "/v1/pets", "/v1/x"} {
			p.call("GET", path, "")
		}
		assert.Equal(t, 2, strings.Count(p.parts(""), `<tr class="hint">`))
		assert.NotContains(t, p.parts(""), `<span class="day">`)
		time.Sleep(24 * time.Hour)
		p.call("GET", "/v1/pets", "")
		assert.Equal(t, []string{"2000-01-01"}, foundIn(`<span class="day">([\d-]+) `, p.parts("")))
	})
}

// foundIn returns what the group of a pattern matches in a text.
func foundIn(pattern, text string) (all []string) {
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
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
		return &journal.Entry{Request: fake.Request{StatusCode: status}, Ended: at}
	}
	all := []*journal.Entry{one(0, now), one(500, now), one(429, now), {}} // one has no response yet
	for range 4500 {
		all = append(all, one(200, now.Add(10*time.Second)))
	}
	c := newChart(all, now.Add(time.Minute))
	assert.Equal(t, []bar{{"lost", 235, 918, 82}, {"failed", 235, 869, 49}, {"limited", 235, 835, 34}, {"fine", 245, 0, 1000}},
		c.Bars, "a storm leaves the rest to be seen, and the worst is at the bottom")
	assert.Equal(t, 4500, c.Peak)
	assert.Empty(t, newChart(all, now.Add(6*time.Minute)).Bars)
	assert.Empty(t, newChart(all, now.Add(-time.Minute)).Bars, "the clock was set back")
	for _, unix := range []int64{0, 1, 299, 300} {
		at := time.Unix(unix, 0)
		assert.Len(t, newChart([]*journal.Entry{one(200, at)}, at).Bars, 1, "%d", unix)
	}
}

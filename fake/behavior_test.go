package fake_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestVariants(t *testing.T) {
	fields := []string{ // in the order of the digits in Variants
		"defaultStatus", "retryAfter", "limitBody", "order", "window", "ignoreInvalid", "removal", "deprecationHeaders",
	}
	choices := []int{4, 3, 3, 3, 3, 2, 2, 2}
	names, rows := make(map[string]bool), [][]string{}
	for name, variant := range fake.Variants() {
		assert.False(t, names[name], "%s is there twice", name)
		names[name] = true
		row := make([]string, len(fields))
		for i, field := range fields {
			_, choice, _ := strings.Cut(","+name, ","+field+"=")
			row[i], _, _ = strings.Cut(choice, ",")
		}
		rows = append(rows, row)
		_, limited := open(t, variant, fake.WithPlan(fake.Plan{PerMinute: 1})).admitted(t)
		assert.Equal(t, row[1] == "absent", limited.header.Get("Retry-After") == "", name)
	}
	assert.True(t, names["default"])
	for i := range fields {
		for j := range i {
			pairs := make(map[[2]string]bool)
			for _, row := range rows {
				pairs[[2]string{row[i], row[j]}] = true
			}
			assert.Len(t, pairs, choices[i]*choices[j], "a row for each pair of %s and %s", fields[i], fields[j])
		}
	}
}

func TestJSON(t *testing.T) {
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for text, value := range map[string]any{
		`{"operation":"listPets","apiKey":"key-1","skip":1,"times":-1,"for":"1m30s","chance":0.5,"delay":"1ms",` +
			`"afterCommit":true,"status":503,"code":"busy","message":"later","retryAfter":"30",` +
			`"header":{"X-A":["1"],"X-B":[]},"body":"\u003cp\u003e","drip":"1m0s","wire":"truncate"}`: fake.Fault{
			Operation: petstore.OpListPets, APIKey: "key-1", Skip: 1, Times: fake.Forever, For: 90 * time.Second, Chance: 0.5,
			Delay: time.Millisecond, AfterCommit: true, Status: 503, Code: "busy", Message: "later", RetryAfter: "30",
			Header: http.Header{"X-A": {"1"}, "X-B": {}}, Body: []byte("<p>"), Drip: time.Minute, Wire: fake.WireTruncate,
		},
		`{"plan":{"perMinute":60,"perDay":1000},"revoked":false,"minute":1,"day":3,"minuteReset":"2026-01-02T00:00:00Z",` +
			`"limited":4}`: fake.Usage{Plan: fake.PlanFree, Minute: 1, Day: 3, Limited: 4, MinuteReset: day},
		`{"retryAfter":"date","removal":true}`: fake.Behavior{RetryAfter: fake.RetryAfterDate, Removal: true},
	} {
		written, err := json.Marshal(value)
		require.NoError(t, err)
		assert.Equal(t, text, string(written))
		got, err := read(value, text)
		require.NoError(t, err, text)
		assert.Equal(t, value, got)
	}
	withMatch, _ := json.Marshal(fake.Fault{Status: 500, Match: func(*http.Request) bool { return true }})
	assert.JSONEq(t, `{"status":500}`, string(withMatch), "a function is no data")
	pro, _ := read(fake.Plan{}, `"pro"`)
	assert.Equal(t, fake.PlanPro, pro)
}

// read reads JSON into a new value of the same type as value.
func read(value any, text string) (any, error) {
	into := reflect.New(reflect.TypeOf(value))
	err := json.Unmarshal([]byte(text), into.Interface())
	return into.Elem().Interface(), err
}

func TestJSONErrors(t *testing.T) {
	for text, c := range map[string]struct {
		value any
		want  string
	}{
		`{"status":503,"statsu":1}`: {fake.Fault{}, `there is no field "statsu"`},
		`{"for":"5 minutes"}`:       {fake.Fault{}, `time: unknown unit " minutes" in duration "5 minutes"`},
		`{"for":5}`:                 {fake.Fault{}, `number into Go st`}, // a message of encoding/json
		`{"status":7}`:              {fake.Fault{}, "Status 7 does not lie between 200 and 999"},
		`{"wire":"burn"}`:           {fake.Fault{}, `there is no wire "burn"; there are reset, close,`},
		`{"perHour":1}`:             {fake.Plan{}, `there is no field "perHour"`},
		`{"perDay":-1}`:             {fake.Plan{}, "0 means no limit"},
		`"gold"`:                    {fake.Plan{}, `there is no plan "gold"; there are business, free, pro`},
		`{"window":"odd"}`:          {fake.Behavior{}, `there is no window "odd"; there are aligned, sliding`},
		`{"order":"odd"}`:           {fake.Behavior{}, `there is no order "odd"; there are descending, shuffled`},
	} {
		_, err := read(c.value, text)
		assert.ErrorContains(t, err, c.want, text)
	}
}

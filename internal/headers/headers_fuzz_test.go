package headers

import (
	"math"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/petstore/petstore-go/internal/quota"
)

// digits matches a header value of section 8.2: a number and nothing else.
var digits = regexp.MustCompile(`^[0-9]+$`)

// exact parses a header value with math/big, which cannot overflow.
func exact(s string, most int64) (int64, bool) {
	n, ok := new(big.Int).SetString(s, 10)
	if !digits.MatchString(s) || !ok || n.Cmp(big.NewInt(most)) > 0 {
		return 0, false
	}
	return n.Int64(), true
}

func FuzzRateLimit(f *testing.F) {
	f.Add("60", "0", "1795000000", "Sat, 21 Nov 2026 12:00:00 GMT")
	f.Add("2147483647", "2147483648", "253402300799", "Saturday, 21-Nov-26 12:00:00 GMT")
	f.Add("0", "-1", "253402300800", "Sat Nov 21 12:00:00 2026")
	f.Add("+1", "1.5", "9223372036854775808", "Sat, 21 Nov 2026")
	f.Add(" 1", "1e3", "0x10", "")
	f.Add("007", "1_0", "٣", "Thu, 01 Jan 0001 00:00:00 GMT")
	f.Fuzz(func(t *testing.T, limit, remaining, reset, date string) {
		h := http.Header{headerLimit: {limit}, headerRemaining: {remaining}, headerReset: {reset}, headerDate: {date}}
		got := RateLimit(h)
		l, ok1 := exact(limit, math.MaxInt32)
		r, ok2 := exact(remaining, math.MaxInt32)
		end, ok3 := exact(reset, MaxUnix)
		want := quota.RateLimit{}
		if ok1 && ok2 && ok3 {
			want = quota.RateLimit{Limit: int(l), Remaining: int(r), Reset: time.Unix(end, 0).UTC()}
			_, err := got.Reset.MarshalText()
			assert.NoError(t, err, "a time that can be logged")
		}
		assert.Equal(t, want, got)
		checkDate(t, h, date)
	})
}

// checkDate compares the service's clock with net/http, which defines its format. The second time,
// the parser has kept the Date.
func checkDate(t *testing.T, h http.Header, date string) {
	t.Helper()
	want, err := http.ParseTime(date)
	if err != nil {
		want = time.Time{}
	}
	assert.True(t, want.Equal(Date(h)), "%q: %v", date, want)
}

func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{
		"1", "120", "0.25", "1.5", "1795262490", "1795262489.5", "5, 9", "31622400", "31622401", "0", "-1", "+5", "NaN",
		"Inf", "1e9", "0x10", "soon", "1.2.3", ".", "5s", "0.0", "-0", "5 seconds", "9223372037", "9223372036854775808", "99999999999999999999999999", "\x00", "",
		"Sat, 21 Nov 2026 12:01:30 GMT", "Saturday, 21-Nov-26 12:01:30 GMT", "Sat Nov 21 12:01:30 2026",
		"Sat, 21 Nov 2026 12:01:30 GMT, 120", "120, Sat, 21 Nov 2026 12:01:30 GMT", "Sat Nov 21 12:01:30 2026,7",
		"Sat, 21 Nov 2026 11:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "0.00000000000001", "999999999.9999999999",
	} {
		f.Add(value, "7", "Sat, 21 Nov 2026 12:00:00 GMT")
		f.Add("3", value, "")
	}
	f.Fuzz(func(t *testing.T, first, second, date string) {
		received := time.Unix(1795262000, 0)
		service, err := http.ParseTime(date)
		if err != nil {
			service = time.Time{}
		}
		parse := func(values ...string) time.Duration {
			d := RetryAfter(http.Header{headerRetryAfter: values}, service, received)
			assert.True(t, d >= 0 && d <= MaxRetryAfter, "%q: %v", values, d)
			return d
		}
		a, b := parse(first), parse(second)
		assert.Equal(t, max(a, b), parse(first, second), "the longest value counts")
		assert.Equal(t, max(a, b), parse(second, first), "in any order")
		if service.IsZero() {
			service = received
		}
		checkRetryAfter(t, first, a, service)
		checkRetryAfter(t, second, b, service)
	})
}

var seconds = regexp.MustCompile(`^([0-9]+(\.[0-9]*)?|\.[0-9]+)$`)

// checkRetryAfter compares one value with net/http if it is a date, and with math/big if it is a
// number.
func checkRetryAfter(t *testing.T, value string, got time.Duration, service time.Time) {
	t.Helper()
	longest := time.Duration(0)
	day := ""
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		for _, date := range []string{part, day + ", " + part} {
			if at, err := http.ParseTime(date); err == nil {
				longest = max(longest, believed(new(big.Rat).SetInt64(at.Unix()-service.Unix())))
			}
		}
		longest = max(longest, delayOf(part, service))
		day = part
	}
	const grain = 8 * time.Nanosecond // of a float64 that counts a year in nanoseconds
	assert.InDelta(t, longest, got, float64(grain), "%q", value)
}

// delayOf returns the wait that a number means: a Unix timestamp within the next year, else
// seconds.
func delayOf(number string, service time.Time) time.Duration {
	if !seconds.MatchString(number) {
		return 0
	}
	exact, ok := new(big.Rat).SetString(strings.TrimSuffix(number, "."))
	if !ok {
		return 0
	}
	if nineDigits := big.NewRat(100_000_000, 1); exact.Cmp(nineDigits) >= 0 && exact.Cmp(big.NewRat(MaxUnix, 1)) <= 0 {
		moment, _ := exact.Float64() // precise to a quarter of a microsecond
		at := new(big.Rat).SetInt64(int64(math.Ceil(moment)) - service.Unix())
		if d := believed(at); d > 0 {
			return d
		}
	}
	return believed(exact)
}

// believed returns exact seconds as a wait; 0 if they are negative or more than a year.
func believed(exact *big.Rat) time.Duration {
	if exact.Sign() < 0 || exact.Cmp(big.NewRat(int64(MaxRetryAfter/time.Second), 1)) > 0 {
		return 0
	}
	d, _ := new(big.Rat).Mul(exact, big.NewRat(int64(time.Second), 1)).Float64()
	return time.Duration(math.Ceil(d))
}

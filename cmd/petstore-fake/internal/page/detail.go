package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// detail is a request as the page shows it alone.
type detail struct {
	*Request
	Reset  string // what the number in X-RateLimit-Reset means
	Bodies [2]body
	Curl   string
}

func newDetail(origin string, r *Request) *detail {
	d := &detail{Request: r, Curl: Curl(origin, r)}
	d.Bodies = [2]body{newBody("Request", r.Body), newBody("Response", r.ResponseBody)}
	if reset, err := strconv.ParseInt(r.ResponseHeader.Get("X-Ratelimit-Reset"), 10, 64); err == nil {
		end := time.Unix(reset, 0)
		d.Reset = when(end, r.Time) + ", " + words(end.Sub(r.Ended())) + " after this response"
	}
	if r.StatusCode == 0 {
		d.Bodies[1].About = "no response"
	}
	return d
}

// body is a body as far as the journal keeps it.
type body struct{ Title, ID, About, Text string }

// newBody lays a body out for reading: a JSON text over several lines, its numbers as they are.
func newBody(of string, text []byte) body {
	var laidOut bytes.Buffer
	size := many(len(text), "byte")
	if json.Indent(&laidOut, text, "", "  ") == nil {
		text = laidOut.Bytes()
	}
	return body{of + " body", strings.ToLower(of) + "-body", size, strings.ToValidUTF8(string(text), "�")}
}

// when writes a time, with its day unless that is today.
func when(t, now time.Time) string {
	if t, now = t.UTC(), now.UTC(); t.Truncate(24 * time.Hour).Equal(now.Truncate(24 * time.Hour)) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// words writes a duration to three digits: 59.6s, 10m0s. What is below a millisecond is noise.
func words(d time.Duration) string {
	if d.Abs() < time.Millisecond {
		return "<1ms"
	}
	digit := 10 * time.Microsecond
	for digit < time.Second && d.Abs() >= 1000*digit {
		digit *= 10
	}
	return d.Round(digit).String()
}

// many writes a number with its noun.
func many(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}

// The chart has a slot for every 5 seconds of the last 5 minutes, by the service's clock.
const slotCount, slotSeconds = 60, 5

// chart is a picture that is 300 wide, one for each second, and 1,000 high. Its scale is
// logarithmic, since otherwise the rest could not be seen beside a storm of requests.
type chart struct {
	Peak int // the most responses of a slot
	Bars []bar
}

type bar struct {
	Class   string
	X, Y, H int
}

// newChart draws the responses of requests up to now.
func newChart(requests []*Request, now time.Time) (c chart) {
	type part struct {
		slot  int
		class string
	}
	counts, sums := make(map[part]int), [slotCount]int{}
	first := now.Unix()/slotSeconds + 1 - slotCount
	for _, r := range requests {
		slot := int(r.Ended().Unix()/slotSeconds - first)
		if slot >= 0 && slot < slotCount && !r.Pending() {
			sums[slot]++
			counts[part{slot, r.Class()}]++
		}
	}
	c.Peak = slices.Max(sums[:])
	height := func(n int) int { return int(math.Round(1000 * math.Log1p(float64(n)) / math.Log1p(float64(c.Peak)))) }
	for slot := range slotCount {
		n := 0
		for _, kind := range slices.Backward(kinds[:]) { // the worst at the bottom, where even a few can be seen
			if of := counts[part{slot, kind.Class}]; of > 0 {
				c.Bars = append(c.Bars, bar{kind.Class, slot * slotSeconds, 1000 - height(n+of), height(n+of) - height(n)})
				n += of
			}
		}
	}
	return c
}

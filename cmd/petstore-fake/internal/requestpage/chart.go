package requestpage

import (
	"net/http"
	"time"

	"github.com/petstore/petstore-go/internal/headers"
)

// The chart has a slot for every 5 seconds of the last 5 minutes, by the service's clock.
const slotCount, slotSeconds = 60, 5

// traffic counts the responses of the last minutes.
type traffic [slotCount]struct {
	start int64 // Unix time
	count [len(kinds)]int
	ends  map[int]int64 // when the window of a key ends, as the responses told it
}

// add counts a response to a request with a key, with status 0 if there was none.
func (t *traffic) add(now time.Time, key, status int, h http.Header) {
	start := now.Unix() - now.Unix()%slotSeconds
	s := &t[uint64(start/slotSeconds)%slotCount] // before 1970, too
	if s.start != start || s.ends == nil {
		s.start, s.count, s.ends = start, [len(kinds)]int{}, make(map[int]int64)
	}
	s.count[kindOf(status)]++
	if reset := headers.RateLimit(h).Reset; key > 0 && !reset.IsZero() {
		s.ends[key] = reset.Unix()
	}
}

// chart is a picture that is 300 wide, a second each, and as high as the most responses of a slot.
type chart struct {
	Peak int
	Bars []bar
	Ends map[int64]bool // where a window of the key ended
}

type bar struct {
	Class   string
	X, Y, N int // Y from below
}

func (t *traffic) chart(now time.Time, key int) chart {
	c, begin := chart{Ends: make(map[int64]bool)}, (now.Unix()/slotSeconds+1-slotCount)*slotSeconds
	for _, s := range t {
		y := 0
		for kind, n := range s.count {
			if n > 0 && s.start >= begin {
				c.Bars, y = append(c.Bars, bar{kinds[kind].Class, int(s.start - begin), y, n}), y+n
			}
		}
		c.Peak = max(c.Peak, y)
		if end := s.ends[key]; end > begin && end <= now.Unix() {
			c.Ends[end-begin] = true
		}
	}
	return c
}

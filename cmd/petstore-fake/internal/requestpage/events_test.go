package requestpage

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admintest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// eventReader reads a stream of events.
type eventReader struct {
	t      *testing.T
	header http.Header // of the response
	lines  *bufio.Scanner
	lastID string
	close  func() // goes away
}

// eventWriter is the response that a stream writes, to a connection in memory with deadlines.
type eventWriter struct {
	net.Conn
	header http.Header
}

func (w eventWriter) Header() http.Header { return w.header }
func (w eventWriter) WriteHeader(int)     {}
func (w eventWriter) Flush()              {}

// follow opens a stream of events. It ends with the test, or with close.
func (p testPage) follow(query, lastID string) *eventReader {
	p.t.Helper()
	conn, server := net.Pipe()
	ctx, cancel := context.WithCancel(p.t.Context())
	r := admintest.Request(p.t, http.MethodGet, "/_fake/events"+query, "").WithContext(ctx)
	r.Header.Set("Last-Event-ID", lastID)
	w := eventWriter{server, make(http.Header)}
	go func() {
		p.ServeHTTP(w, r)
		_ = server.Close()
	}()
	e := &eventReader{t: p.t, header: w.header, lines: bufio.NewScanner(conn), close: func() {
		cancel()
		_ = conn.Close()
	}}
	p.t.Cleanup(e.close)
	e.lines.Buffer(nil, 4<<20)
	return e
}

// next returns the next event.
func (e *eventReader) next() event {
	e.t.Helper()
	for e.lines.Scan() {
		if id, ok := strings.CutPrefix(e.lines.Text(), "id: "); ok {
			e.lastID = id
		}
		if data, ok := strings.CutPrefix(e.lines.Text(), "data: "); ok {
			var next event
			require.NoError(e.t, json.Unmarshal([]byte(data), &next))
			return next
		}
	}
	require.NoError(e.t, e.lines.Err())
	e.t.Fatal("the stream ended")
	return event{}
}

var rowStatus = regexp.MustCompile(`id="r(\d+)".*<b class="(\w+)">`)

// seqs returns the requests of an event's rows with the kinds of their statuses.
func seqs(e event) []string {
	list := []string{}
	for _, r := range e.Rows {
		found := rowStatus.FindStringSubmatch(r.HTML)
		list = append(list, fmt.Sprintf("%d %s:%s", r.Seq, found[1], found[2]))
	}
	return list
}

func TestEvents_beginWithTheJournalAndGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestPage(t)
		i.call("GET", "/v1/pets", "")
		i.call("GET", "/v1/pets/7", "")
		s := i.follow("", "")
		first := s.next()
		assert.Equal(t, "text/event-stream", s.header.Get("Content-Type"))
		assert.True(t, first.Fresh)
		assert.Equal(t, []string{"1 1:fine", "2 2:refused"}, seqs(first))
		assert.Contains(t, first.State["pets"], "No pets yet.")
		assert.Contains(t, first.Rows[1].HTML, "<i>section 4.3</i>")
		assert.Contains(t, first.Rows[0].HTML, fake.DefaultAPIKey)

		i.call("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`)
		next := s.next()
		assert.False(t, next.Fresh)
		assert.Equal(t, []string{"3 3:fine"}, seqs(next))
		assert.Contains(t, next.State, "pets")
		assert.NotContains(t, next.State, "strip", "it has not changed")

		i.srv.AddPet(petstore.NewPet{Name: "Mimi", CategoryID: 1})
		i.Changed()
		next = s.next()
		assert.Empty(t, next.Rows)
		assert.Contains(t, next.State["pets"], "Mimi")
	})
}

func TestEvents_requestBeforeItsResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestPage(t)
		i.srv.Inject(delayed(10 * time.Second))
		s := i.follow("", "")
		s.next()
		begun := time.Now()
		answered := make(chan int)
		go func() { answered <- i.call("GET", "/v1/pets", "").Code }()
		open := s.next()
		assert.Less(t, time.Since(begun), time.Second)
		require.Len(t, open.Rows, 1)
		assert.Equal(t, []string{"1 1:pending"}, seqs(open))
		assert.Equal(t, 200, <-answered)
		done := s.next()
		require.Len(t, done.Rows, 1)
		assert.Equal(t, []string{"1 1:fine"}, seqs(done))
		assert.Contains(t, done.Rows[0].HTML, ">10 s<")
		assert.Contains(t, done.Rows[0].HTML, "delayed by 10 s")
	})
}

func TestEvents_resume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestPage(t)
		i.call("GET", "/v1/pets", "")
		s := i.follow("", "")
		s.next()
		i.call("GET", "/v1/pets?limit=1", "")
		i.call("GET", "/v1/pets?limit=2", "")

		resumed := i.follow("", s.lastID)
		e := resumed.next()
		assert.False(t, e.Fresh)
		assert.Equal(t, []string{"2 2:fine", "3 3:fine"}, seqs(e))
		byQuery := i.follow("?lastEventId="+s.lastID, "")
		assert.Equal(t, []string{"2 2:fine", "3 3:fine"}, seqs(byQuery.next()))

		nothing := i.follow("", resumed.lastID).next()
		assert.False(t, nothing.Fresh)
		assert.Empty(t, nothing.Rows)
		for _, id := range []string{"1-1", "x", s.lastID + "0000", "-", strings.Repeat("f", 40) + "-1"} {
			assert.True(t, i.follow("", id).next().Fresh, id)
		}
	})
}

func TestEvents_beginAnewWithTheJournal(t *testing.T) {
	t.Parallel()
	for name, empty := range map[string]func(testPage){
		"clear": func(p testPage) {
			p.Clear()
		},
		"restart": func(p testPage) {
			p.Restart()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i := newTestPage(t)
				s := i.follow("", "")
				s.next()
				i.call("GET", "/v1/pets", "")
				s.next()
				empty(i)
				e := s.next()
				assert.True(t, e.Fresh)
				assert.Empty(t, e.Rows)
				i.call("GET", "/v1/pets", "")
				assert.Len(t, s.next().Rows, 1)
			})
		})
	}
}

func TestEvents_burstInOneBoundedEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestPage(t, fake.WithPlan(fake.Enterprise(0, 0)))
		s := i.follow("", "")
		s.next()
		for range maxRows + 50 {
			i.call("GET", "/v1/pets", "")
		}
		e := s.next()
		assert.True(t, e.Fresh)
		require.Len(t, e.Rows, maxRows)
		assert.Equal(t, maxRows+50, e.Rows[maxRows-1].Seq)
	})
}

func TestEvents_firstOfTwoTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestPage(t)
		s := i.follow("", "")
		s.next()
		i.srv.Inject(fake.Fault{Status: 503, Times: 2})
		for _, want := range [][]string{{"1 1:failed"}, {"1 1:failed", "2 2:failed"}, {"3 3:fine"}} {
			i.call("GET", "/v1/pets", "")
			assert.Equal(t, want, seqs(s.next()))
		}
	})
}

func TestEvents_shortenRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestPage(t)
		i.call("GET", "/v1/pets/"+strings.Repeat("x", 6_000), "")
		first := i.follow("", "").next()
		assert.Contains(t, first.Rows[0].HTML, "x…")
		assert.Less(t, len(first.Rows[0].HTML), 2_500)
	})
}

func TestEvents_requestsThatFitNoLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestPage(t)
		i.srv.Inject(delayed(time.Second))
		s := i.follow("?status=0", "")
		s.next()
		go i.call("GET", "/v1/pets", "")
		assert.Equal(t, []string{"1 1:pending"}, seqs(s.next()))
		e := s.next()
		assert.Empty(t, e.Rows)
		assert.Equal(t, []int{1}, e.Gone)
	})
}

func TestEvents_beatWhileIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestPage(t).follow("", "")
		s.next()
		require.True(t, s.lines.Scan())
		assert.Empty(t, s.lines.Text(), "the end of the event")
		begun := time.Now()
		require.True(t, s.lines.Scan())
		assert.Equal(t, "event: beat", s.lines.Text())
		assert.InDelta(t, beatPause, time.Since(begun), float64(time.Second))
	})
}

func TestEvents_dropAReaderThatTakesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestPage(t)
		i.follow("", "")
		synctest.Wait()
		assert.EqualValues(t, 1, i.streams.Load())
		time.Sleep(sendTimeout - time.Second)
		assert.EqualValues(t, 1, i.streams.Load())
		time.Sleep(2 * time.Second)
		assert.Zero(t, i.streams.Load())
	})
}

func TestEvents_boundedStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestPage(t)
		var closeLast func()
		for range maxStreams {
			s := i.follow("", "")
			closeLast = s.close
			go func() {
				for s.lines.Scan() { // so that no event is held up
				}
			}()
		}
		synctest.Wait()
		refused := i.call("GET", "/_fake/events", "")
		assert.Equal(t, http.StatusServiceUnavailable, refused.Code)
		assert.NotEmpty(t, refused.Header().Get("Retry-After"))
		closeLast()
		synctest.Wait()
		assert.Equal(t, http.StatusOK, i.call("GET", "/_fake/events", "").Code)
		i.Close()
		synctest.Wait()
		assert.Zero(t, i.streams.Load())
	})
}

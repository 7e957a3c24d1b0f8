package requestpage

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/admintest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// pipes is a listener whose connections are in memory, so that a bubble can hold them.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

// servePipes serves an instance to who calls the function that it returns. It ends with the test.
func servePipes(t *testing.T, i http.Handler) (dial func() net.Conn) {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	hs := &http.Server{Handler: i, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(l) }()
	t.Cleanup(func() {
		assert.NoError(t, hs.Close())
		assert.ErrorIs(t, <-ended, http.ErrServerClosed)
	})
	return func() net.Conn {
		client, server := net.Pipe()
		l.conns <- server
		return client
	}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// eventReader reads a stream of events.
type eventReader struct {
	t      *testing.T
	resp   *http.Response
	lines  *bufio.Scanner
	lastID string
}

// follow opens a stream of events. It ends with the test.
func follow(t *testing.T, dial func() net.Conn, query, lastID string) *eventReader {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admintest.Host+"/_fake/events"+query, http.NoBody)
	require.NoError(t, err)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	transport := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return dial(), nil },
	}
	resp, err := transport.RoundTrip(r)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, resp.Body.Close())
		transport.CloseIdleConnections()
	})
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	return &eventReader{t: t, resp: resp, lines: lines}
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
		s := follow(t, servePipes(t, i), "", "")
		assert.Equal(t, "text/event-stream", s.resp.Header.Get("Content-Type"))

		first := s.next()
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
		s := follow(t, servePipes(t, i), "", "")
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
		dial := servePipes(t, i)
		i.call("GET", "/v1/pets", "")
		s := follow(t, dial, "", "")
		s.next()
		i.call("GET", "/v1/pets?limit=1", "")
		i.call("GET", "/v1/pets?limit=2", "")

		resumed := follow(t, dial, "", s.lastID)
		e := resumed.next()
		assert.False(t, e.Fresh)
		assert.Equal(t, []string{"2 2:fine", "3 3:fine"}, seqs(e))
		byQuery := follow(t, dial, "?lastEventId="+s.lastID, "")
		assert.Equal(t, []string{"2 2:fine", "3 3:fine"}, seqs(byQuery.next()))

		nothing := follow(t, dial, "", resumed.lastID).next()
		assert.False(t, nothing.Fresh)
		assert.Empty(t, nothing.Rows)
		for _, id := range []string{"1-1", "x", s.lastID + "0000", "-", strings.Repeat("f", 40) + "-1"} {
			assert.True(t, follow(t, dial, "", id).next().Fresh, id)
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
				s := follow(t, servePipes(t, i), "", "")
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
		dial := servePipes(t, i)
		s := follow(t, dial, "", "")
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
		s := follow(t, servePipes(t, i), "", "")
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
		first := follow(t, servePipes(t, i), "", "").next()
		assert.Contains(t, first.Rows[0].HTML, "x…")
		assert.Less(t, len(first.Rows[0].HTML), 2_500)
	})
}

func TestEvents_requestsThatFitNoLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestPage(t)
		i.srv.Inject(delayed(time.Second))
		s := follow(t, servePipes(t, i), "?status=0", "")
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
		s := follow(t, servePipes(t, newTestPage(t)), "", "")
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
		conn := servePipes(t, i)()
		_, err := io.WriteString(conn, "GET /_fake/events HTTP/1.1\r\nHost: "+admintest.Host+"\r\n\r\n")
		require.NoError(t, err)
		synctest.Wait()
		assert.EqualValues(t, 1, i.streams.Load())
		time.Sleep(sendTimeout - time.Second)
		assert.EqualValues(t, 1, i.streams.Load())
		time.Sleep(2 * time.Second)
		assert.Zero(t, i.streams.Load())
		assert.NoError(t, conn.Close())
	})
}

func TestEvents_boundedStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestPage(t)
		dial := servePipes(t, i)
		var streams []*eventReader
		for range maxStreams {
			streams = append(streams, follow(t, dial, "", ""))
		}
		refused := i.call("GET", "/_fake/events", "")
		assert.Equal(t, http.StatusServiceUnavailable, refused.Code)
		assert.NotEmpty(t, refused.Header().Get("Retry-After"))
		require.NoError(t, streams[0].resp.Body.Close())
		time.Sleep(time.Second) // net/http may look for a moment whether the body comes to its end
		synctest.Wait()
		assert.Equal(t, http.StatusOK, i.call("GET", "/_fake/events", "").Code)
		i.Close()
		synctest.Wait()
		assert.Zero(t, i.streams.Load())
	})
}

func TestEvents_HEAD(t *testing.T) {
	t.Parallel()
	i := newTestPage(t)
	w := httptest.NewRecorder()
	i.ServeHTTP(w, admintest.Request(t, http.MethodHead, "/_fake/events", "")) // would wait for the request's context
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, "text/event-stream", w.Header().Get("Content-Type"))
	assert.Empty(t, w.Body.String())
}

func TestEvents_wrongFilters(t *testing.T) {
	t.Parallel()
	i := newTestPage(t)
	for _, query := range []string{"status=abc", "key=x", "operation=noSuchOperation", "colour=red"} {
		w := i.call("GET", "/_fake/events?"+query, "")
		assert.Equal(t, http.StatusBadRequest, w.Code, query)
		assert.Zero(t, i.streams.Load())
	}
}

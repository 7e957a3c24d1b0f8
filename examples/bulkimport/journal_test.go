package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go/fake"
)

var testHeading = heading{Journal: journalFormat, Service: "s", Input: "i"}

const testHead = `{"journal":"bulkimport 1","service":"s","input":"i"}` + "\n"

func writeJournal(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pets.csv.journal")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func line(n string, e event) string {
	return `{"line":` + n + `,"event":"` + string(e) + `","time":"2000-01-01T00:00:00Z"}` + "\n"
}

func TestTheJournalRemembersTheLastEventOfEachRow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.csv.journal")
	j, err := openJournal(path, testHeading)
	require.NoError(t, err)
	for _, e := range []entry{
		{Line: 2, Event: sending},
		{Line: 3, Event: rejected, Reason: "no \"name\"\n\x00 小白"},
		{Line: 4, Event: sending},
		{Line: 4, Event: unsent},
		{Line: 2, Event: created, ID: 1<<63 - 1},
		{Line: 5, Event: sending},
		{Line: 5, Event: unknown, Reason: "reset"},
	} {
		require.NoError(t, j.write(e))
	}
	want := j.last
	require.NoError(t, j.close())

	j, err = openJournal(path, testHeading)
	require.NoError(t, err)
	assert.Equal(t, want, j.last)
	assert.Equal(t, int64(1<<63-1), j.row(2).ID)
	assert.Equal(t, 3, j.rows(created, rejected, unknown))
	assert.Zero(t, j.row(6))
	require.NoError(t, j.close())
}

func TestARowThatWasBeingSentWhenTheProgramDiedIsUndecided(t *testing.T) {
	t.Parallel()
	path := writeJournal(t, testHead+line("7", sending)+line("3", sending)+line("4", sending)+line("4", unsent))
	j, err := openJournal(path, testHeading)
	require.NoError(t, err)
	for _, n := range []int{3, 7} {
		assert.True(t, j.row(n).undecided())
		assert.True(t, j.row(n).done())
		assert.Equal(t, "the import ended while the request was on its way", j.row(n).Reason)
	}
	assert.False(t, j.row(4).done())
	require.NoError(t, j.close())
}

func TestALineThatWasBeingWrittenIsCutOff(t *testing.T) {
	t.Parallel()
	for _, torn := range []string{"{", `{"line":3,"event":"sending","time":"2000-01-01T00:00:00Z"}`, "\x00\x00\x00"} {
		path := writeJournal(t, testHead+line("2", rejected)+torn)
		j, err := openJournal(path, testHeading)
		require.NoError(t, err)
		assert.False(t, j.row(3).done())
		require.NoError(t, j.close())
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, testHead+line("2", rejected), string(content))
	}
}

func TestAJournalThatWasBeingBegunIsBegunAnew(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 20, len(testHead) - 1} {
		path := writeJournal(t, testHead[:n])
		j, err := openJournal(path, testHeading)
		require.NoErrorf(t, err, "%q", testHead[:n])
		require.NoError(t, j.close())
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, testHead, string(content))
	}
}

func TestAJournalThatCannotBeTrustedIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	for content, reason := range map[string]string{
		"notes":              `this is no journal of the format "bulkimport 1"`,
		"my notes\nand more": `this is no journal of the format "bulkimport 1"`,
		strings.Replace(testHead, "import 1", "import 2", 1):                    `this is no journal of the format "bulkimport 1"`,
		strings.Replace(testHead, `"s"`, `"t"`, 1):                              "this is the journal of an import into t, not s",
		strings.Replace(testHead, `"i"`, `"j"`, 1):                              "the input has changed since this journal was begun",
		testHead + "{\n" + line("2", sending):                                   "line 2 is damaged",
		testHead + line("2", sending) + "\x00\n":                                "line 3 is damaged",
		testHead + `{"line":2,"event":"sending","who":"me"}` + "\n":             "line 2 is damaged",
		testHead + line("2", "lost"):                                            "line 2 contradicts",
		testHead + line("0", rejected):                                          "line 2 contradicts",
		testHead + line("2", created):                                           "line 2 contradicts",
		testHead + line("2", sending) + line("2", sending):                      "line 3 contradicts",
		testHead + line("2", rejected) + line("2", sending):                     "line 3 contradicts",
		testHead + line("2", unsent):                                            "line 2 contradicts",
		testHead + line("2", sending) + line("2", created) + line("2", created): "line 4 contradicts",
	} {
		path := writeJournal(t, content)
		_, err := openJournal(path, testHeading)
		require.ErrorContainsf(t, err, reason, "%q", content)
		assert.ErrorContains(t, err, path)
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, content, string(left))
	}
}

// FuzzNoRowIsSentAgain reads any bytes as a journal. Whatever the journal makes of them, a row of which a whole
// line says that it was sent may only be sent again if a later one takes that back.
func FuzzNoRowIsSentAgain(f *testing.F) {
	f.Add([]byte(line("2", sending) + line("3", rejected) + line("2", unsent) + line("2", sending)))
	f.Add([]byte(line("2", sending) + line("2", created) + `{"line":3,`))
	f.Fuzz(func(t *testing.T, content []byte) {
		content = append([]byte(testHead), content...)
		last, whole, err := replay(content, testHeading)
		if err != nil {
			return
		}
		assert.True(t, whole == len(content) || !bytes.Contains(content[whole:], []byte("\n")))
		assert.Equal(t, byte('\n'), content[whole-1])
		sent := sentRows(t, content)
		for line, e := range last {
			if sent[line] {
				assert.Truef(t, e.done(), "line %d", line)
			}
		}
	})
}

// sentRows reads a journal as a stranger would: which rows may be with the service.
func sentRows(t *testing.T, content []byte) map[int]bool {
	t.Helper()
	sent := map[int]bool{}
	for text := range bytes.Lines(content) {
		var e entry
		if bytes.HasSuffix(text, []byte("\n")) && json.Unmarshal(text, &e) == nil {
			switch e.Event {
			case sending:
				sent[e.Line] = true
			case unsent:
				sent[e.Line] = false
			}
		}
	}
	return sent
}

// TestNoCrashRepeatsACreate takes the journal of a whole import, cuts it off in each of its lines and after it,
// as a crash may, and goes on from there. The service has got what the journal says was sent.
func TestNoCrashRepeatsACreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rows = 8
		journal, input := eventfulJournal(t, rows)
		for n := range len(journal) + 1 {
			if n < len(journal) && journal[n] != '\n' && (n == 0 || journal[n-1] != '\n') {
				continue // as if cut off before the end of the line
			}
			server := fake.NewServer()
			b := newBenchOf(t, server, string(input))
			require.NoError(t, os.WriteFile(b.input+".journal", journal[:n], 0o600))
			require.NoError(t, b.run(t.Context()))
			sent := b.sent()
			for line, before := range sentRows(t, journal[:n]) {
				assert.Falsef(t, before && sent[line-1] > 0, "Pet %d was sent before a crash at byte %d and again", line-1, n)
			}
			assert.Zero(t, b.count(sending)+b.count(unsent))
			assert.Len(t, b.states(), rows)
			server.Close()
		}
	})
}

func TestAJournalCutOffAtAnyByteIsThatOfItsWholeLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal, _ := eventfulJournal(t, 8)
		first, _, _ := bytes.Cut(journal, []byte("\n"))
		var h heading
		require.NoError(t, json.Unmarshal(first, &h))
		for n := range journal {
			want, whole, err := replay(journal[:bytes.LastIndexByte(journal[:n], '\n')+1], h)
			require.NoError(t, err)
			got, cut, err := replay(journal[:n], h)
			require.NoErrorf(t, err, "cut off at byte %d", n)
			assert.Equal(t, whole, cut)
			assert.Equal(t, want, got)
		}
	})
}

// eventfulJournal returns the journal of an import in which all that can happen to a row has happened, and its
// input.
func eventfulJournal(t *testing.T, rows int) (journal, input []byte) {
	t.Helper()
	b := newBench(t, fake.NewTestServer(t), rows)
	for i, f := range []fake.Fault{
		{Wire: fake.WireReset},
		{Wire: fake.WireReset, AfterCommit: true},
		{Status: 503},
		{Status: 400},
		{Status: 429, RetryAfter: "3"},
		{Wire: fake.WireRefuse},
	} {
		f.Operation, f.Match = fake.OpCreatePet, adds(t, i+2)
		b.server.Inject(f)
	}
	require.NoError(t, b.run(t.Context()))
	journal, err := os.ReadFile(b.input + ".journal")
	require.NoError(t, err)
	input, err = os.ReadFile(b.input)
	require.NoError(t, err)
	return journal, input
}

// failingFile fails once, half-way through a write or in a sync, as a disk does that is full for a moment.
type failingFile struct {
	file
	writes, syncs int // that succeed before
}

var errDiskFull = errors.New("no space left on device")

func (f *failingFile) Write(p []byte) (int, error) {
	if f.writes--; f.writes != -1 {
		return f.file.Write(p)
	}
	n, err := f.file.Write(p[:len(p)/2])
	return n, errors.Join(err, errDiskFull)
}

func (f *failingFile) Sync() error {
	if f.syncs--; f.syncs != -1 {
		return f.file.Sync()
	}
	return errDiskFull
}

func TestAFullDiskStopsTheImportBeforeARequestThatNobodyWouldRemember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const never = 1000
		for failAfter := range 10 {
			for _, limits := range [][2]int{{failAfter, never}, {never, failAfter % 4}} { // writes, syncs
				server := fake.NewTestServer(t, fake.WithLatency(time.Millisecond))
				b := newBench(t, server, 30)
				j := newJob(b.input, "")
				rows, sum, err := j.read()
				require.NoError(t, err)
				require.NoError(t, j.open(t.Context(), rows, heading{Service: "the test's", Input: sum}, serviceOf(server)))
				j.journal.file = &failingFile{file: j.journal.file, writes: limits[0], syncs: limits[1]}
				assert.ErrorIs(t, j.importRows(t.Context(), &b.out), errDiskFull)
				require.ErrorIs(t, j.journal.close(), errDiskFull)

				require.NoError(t, b.run(t.Context()))
				b.assertNothingLostOrRepeated(30)
			}
		}
	})
}

// countingFile lets its first sync end once n entries have been written.
type countingFile struct {
	mu     sync.Mutex
	left   int
	all    chan struct{}
	syncs  int
	writes bytes.Buffer
}

func (f *countingFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left == 0 {
		close(f.all)
	}
	return f.writes.Write(p)
}

func (f *countingFile) Sync() error {
	<-f.all
	f.syncs++
	return nil
}

func (f *countingFile) Close() error { return nil }

func TestRowsThatAreSentTogetherShareTheDisksTime(t *testing.T) {
	t.Parallel()
	const rows = 64
	f := &countingFile{left: rows, all: make(chan struct{})}
	j := &journal{file: f, last: map[int]entry{}, count: map[event]int{}}
	var group sync.WaitGroup
	for n := range rows {
		group.Go(func() {
			assert.NoError(t, j.write(entry{Line: n + 1, Event: sending}))
			assert.NoError(t, j.sync())
		})
	}
	group.Wait()
	assert.LessOrEqual(t, f.syncs, 2)
	assert.Equal(t, rows, strings.Count(f.writes.String(), "\n"))
	assert.Equal(t, rows, j.synced)
}

func TestTheEventsOfARowComeInOneOrder(t *testing.T) {
	t.Parallel()
	events := []event{"", sending, unsent, created, rejected, unknown}
	var got []string
	for _, last := range events {
		for _, next := range events {
			if next.mayFollow(last) {
				got = append(got, string(last)+" → "+string(next))
			}
		}
	}
	slices.Sort(got)
	assert.Equal(t, []string{
		" → rejected", " → sending", "sending → created", "sending → rejected", "sending → unknown",
		"sending → unsent", "unsent → rejected", "unsent → sending",
	}, got)
}

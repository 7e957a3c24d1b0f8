package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// inputOf returns an input of which rows begin at the lines 2 to rows+1.
func inputOf(rows int) *input {
	return &input{sum: "i", rows: rows, states: append([]event{none, none}, slices.Repeat([]event{waiting}, rows)...)}
}

func openTestJournal(t *testing.T, path string) *journal {
	t.Helper()
	j, err := openJournal(path, "s", inputOf(6))
	require.NoError(t, err)
	return j
}

// journalText returns the text of a journal of inputOf(6) with further entries.
func journalText(t *testing.T, entries ...entry) string {
	t.Helper()
	begin := entry{Event: begun, Service: "s", Input: "i"}
	var text []byte
	var sum uint32
	for _, e := range slices.Concat([]entry{begin}, entries) {
		line, next, err := seal(sum, e)
		require.NoError(t, err)
		text, sum = append(text, line...), next
	}
	return string(claim(int64(claimSize+len(text)))) + string(text)
}

func writeJournal(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pets.csv.journal")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// The tests of the journal are not parallel: a program that another test starts would have its lock
// for the moment between fork and exec.
func TestJournal(t *testing.T) {
	t.Run("remembers the last event of each row", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "pets.csv.journal")
		j := openTestJournal(t, path)
		seen := &petstore.Observation{StatusCode: 429, RetryAfter: time.Minute, Received: time.Unix(7, 0).UTC()}
		for _, e := range []entry{
			{Line: 2, Event: sending},
			{Line: 3, Event: rejected, Reason: "no \"name\"\n\x00 小白"},
			{Line: 4, Event: sending},
			{Line: 4, Event: unsent},
			{Line: 2, Event: created, ID: 1<<63 - 1},
			{Line: 5, Event: sending},
			{Line: 5, Event: unknown, Reason: "reset"},
			{Event: closed, Response: seen},
			{Event: down, Tries: 3},
		} {
			require.NoError(t, j.write(e))
		}
		states := slices.Clone(j.states)
		require.NoError(t, j.close())

		j = openTestJournal(t, path)
		assert.Equal(t, states, j.states)
		assert.True(t, j.added(1<<63-1))
		assert.Equal(t, 3, j.rows(created, rejected, unknown))
		assert.Equal(t, 3, j.rows(waiting, unsent))
		assert.Equal(t, "no \"name\"\n\x00 小白", j.lost[3].Reason)
		assert.Equal(t, seen, j.closed)
		assert.Equal(t, 3, j.down.Tries)
		require.NoError(t, j.file.Close())
	})
	t.Run("forgets an outage when a create is confirmed", func(t *testing.T) {
		for _, last := range []event{created, rejected} {
			path := writeJournal(t, journalText(t, entry{Event: down, Tries: 4}, entry{Line: 2, Event: sending},
				entry{Line: 2, Event: last}))
			j := openTestJournal(t, path)
			assert.Zero(t, j.down.Tries)
			require.NoError(t, j.file.Close())
		}
	})
	t.Run("has a row undecided that was being sent when the program died", func(t *testing.T) {
		path := writeJournal(t, journalText(t, entry{Line: 7, Event: sending}, entry{Line: 3, Event: sending},
			entry{Line: 4, Event: sending}, entry{Line: 4, Event: unsent}))
		j := openTestJournal(t, path)
		for _, line := range []int{3, 7} {
			assert.Equal(t, unknown, j.row(line))
			assert.Equal(t, "the import ended before the response came", j.lost[line].Reason)
		}
		assert.Equal(t, unsent, j.row(4))
		require.NoError(t, j.file.Close())
	})
	t.Run("cuts off the line that was being written", func(t *testing.T) {
		whole := journalText(t, entry{Line: 2, Event: rejected})
		for _, torn := range []string{"{", `{"line":3,"event":"sending","time":"2000-01-01T00:00:00Z"}`, "\x00\x00\x00"} {
			path := writeJournal(t, whole+torn)
			j := openTestJournal(t, path)
			assert.Equal(t, waiting, j.row(3))
			require.NoError(t, j.file.Close())
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, whole, string(content))
		}
	})
}

func TestJournal_refused(t *testing.T) {
	other := func(e entry) string {
		line, _, err := seal(0, e)
		require.NoError(t, err)
		return string(claim(0)) + string(line)
	}
	created2 := entry{Line: 2, Event: created, ID: 1}
	for text, reason := range map[string]string{
		"":                   "this is no journal of the format",
		"notes":              "this is no journal of the format",
		"my notes\nand more": "this is no journal of the format",
		string(claim(0)):     "it is damaged",
		`{"journal":"bulkimport 1","service":"s","input":"i"}` + "\n":                   "this is no journal of the format",
		other(entry{Event: "bulkimport 3"}):                                             "this is no journal of the format",
		other(entry{Event: begun, Service: "t"}):                                        "the journal of an import into t, not s",
		other(entry{Event: begun, Service: "s", Input: "j"}):                            "the input has changed since this journal was begun",
		other(entry{Event: sending, Line: 2}):                                           "this is no journal of the format",
		journalText(t) + "{\n":                                                          "line 3 is damaged",
		journalText(t, entry{Line: 2, Event: "lost"}):                                   "line 3: ",
		journalText(t, entry{Line: 1, Event: rejected}):                                 "line 3: no row begins at line 1 of the input",
		journalText(t, entry{Line: 8, Event: rejected}):                                 "line 3: no row begins at line 8 of the input",
		journalText(t, entry{Line: -1, Event: rejected}):                                "line 3: no row begins at line -1 of the input",
		journalText(t, entry{Event: closed}):                                            "line 3: no row begins at line 0 of the input",
		journalText(t, created2):                                                        "line 3: ",
		journalText(t, entry{Line: 2, Event: sending}, entry{Line: 2, Event: sending}):  "line 4: ",
		journalText(t, entry{Line: 2, Event: rejected}, entry{Line: 2, Event: sending}): "line 4: ",
		journalText(t, entry{Line: 2, Event: unsent}):                                   "line 3: ",
		journalText(t, entry{Line: 2, Event: sending}, created2, created2):              "line 5: ",
		journalText(t, entry{Line: 2, Event: sending}, created2, entry{Line: 3, Event: sending},
			entry{Line: 3, Event: created, ID: 1}): "line 6: ",
		journalText(t, entry{Event: begun}): "line 3: ",
	} {
		path := writeJournal(t, text)
		_, err := openJournal(path, "s", inputOf(6))
		require.ErrorContainsf(t, err, reason, "%q", text)
		assert.ErrorContains(t, err, path)
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, text, string(left))
	}
}

// TestJournal_damage damages the journal of a whole import at each of its bytes. Whatever an import
// then says, the service gets no pet again that it has got, and no row is counted wrongly.
func TestJournal_damage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := eventfulImport(t, 8)
		whole, err := os.ReadFile(b.input + ".journal")
		require.NoError(t, err)
		want, before := b.summary, len(b.server.Requests())
		require.Equal(t, summary{Service: "the test's", Rows: 8, Created: 4, Undecided: 3, Rejected: 1}, want)
		refused, right, step := 0, 0, 8
		if longRows(t) > 0 {
			step = 1
		}
		try := func(damaged []byte, what string, at int) {
			require.NoError(t, os.Remove(b.input+".journal")) // faster than to write over it
			require.NoError(t, os.WriteFile(b.input+".journal", damaged, 0o600))
			in, err := readInput(b.input, func(row) {})
			require.NoError(t, err)
			j, err := openJournal(b.input+".journal", "the test's", in)
			if err != nil {
				refused++
				return
			}
			require.NoError(t, j.file.Close())
			require.NoError(t, b.run(t.Context()))
			right++
			assert.Equalf(t, want, b.summary, "%s at byte %d", what, at)
			for _, r := range b.server.Requests()[before:] {
				assert.NotEqualf(t, petstore.OpCreatePet, r.Operation, "%s at byte %d", what, at)
			}
		}
		for at := range whole {
			for bit := at % 8; bit < 8; bit += step {
				damaged := slices.Clone(whole)
				damaged[at] ^= 1 << bit
				try(damaged, "flip", at)
			}
			try(whole[:at], "cut", at)
			try(slices.Delete(slices.Clone(whole), at, at+1), "byte lost", at)
		}
		lines := bytes.SplitAfter(whole, []byte("\n"))
		for n := range len(lines) - 1 {
			try(bytes.Join(slices.Delete(slices.Clone(lines), n, n+1), nil), "line lost", n)
			try(bytes.Join(slices.Insert(slices.Clone(lines), n, lines[n]), nil), "line twice", n)
		}
		t.Logf("%d bytes: %d journals refused, %d right", len(whole), refused, right)
		assert.Less(t, right, 300, "what is right is a claim of less than there is")
	})
}

// injectEvents makes all happen that can happen to a row.
func injectEvents(t *testing.T, server *fake.Server) {
	t.Helper()
	for i, f := range []fake.Fault{
		{Wire: fake.WireReset},
		{Wire: fake.WireReset, AfterCommit: true},
		{Status: 303, AfterCommit: true},
		{Status: 400},
		{Status: 429, RetryAfter: "3"},
		{Wire: fake.WireRefuse},
	} {
		f.Operation, f.Match = petstore.OpCreatePet, adds(t, i+2)
		server.Inject(f)
	}
}

func eventfulImport(t *testing.T, rows int) *bench {
	t.Helper()
	b := newBench(t, fake.NewTestServer(t), rows)
	injectEvents(t, b.server)
	require.NoError(t, b.run(t.Context()))
	return b
}

// failingFile fails once, half-way through a write or in a sync, as a disk does that is full for a
// moment.
type failingFile struct {
	file
	mu            sync.Mutex
	writes, syncs int // that succeed before
}

var errDiskFull = errors.New("no space left on device")

func (f *failingFile) WriteAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.writes--; f.writes != -1 {
		return f.file.WriteAt(p, at)
	}
	n, err := f.file.WriteAt(p[:len(p)/2], at)
	return n, errors.Join(err, errDiskFull)
}

func (f *failingFile) Sync() error {
	if f.syncs--; f.syncs != -1 {
		return f.file.Sync()
	}
	return errDiskFull
}

func TestJournal_fullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const never = 1000
		for failAfter := range 20 {
			for _, limits := range [][2]int{{failAfter, never}, {never, failAfter % 4}} { // writes, syncs
				b := newBench(t, fake.NewTestServer(t, fake.WithLatency(time.Millisecond)), 30)
				j, err := b.job(t.Context(), serviceOf(b.server))
				require.NoError(t, err)
				j.journal.file = &failingFile{file: j.journal.file, writes: limits[0], syncs: limits[1]}
				assert.ErrorIs(t, j.run(t.Context(), &b.summary, &b.out, &b.out), errDiskFull)

				require.NoError(t, b.run(t.Context()))
				b.assertNothingLostOrRepeated(30)
			}
		}
	})
}

func TestFollows(t *testing.T) {
	for _, last := range []event{none, created, rejected, unknown} {
		for next, before := range follows {
			assert.NotContainsf(t, before, last, "%s after %q", next, last)
		}
	}
}

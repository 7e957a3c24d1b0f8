package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

// journalOf returns an open journal with these entries of rows of a file.
func journalOf(t *testing.T, path string, rows ...lineEntry) *journal {
	t.Helper()
	j, err := openJournal(path, "s", &input{sum: "i", rows: 6})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, j.db.Close()) })
	for _, r := range rows {
		require.NoError(t, j.write(r.line, r.entry))
	}
	return j
}

type lineEntry struct {
	line int
	entry
}

// The tests of the journal are not parallel: a program that another test starts would have its lock
// for the moment between fork and exec.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pets.csv.journal")
	j := journalOf(t, path, []lineEntry{
		{2, entry{Event: sending}},
		{3, entry{Event: rejected, Reason: "no \"name\"\n\x00 小白"}},
		{4, entry{Event: sending}},
		{4, entry{Event: unsent}},
		{2, entry{Event: created, ID: 1<<63 - 1}},
		{5, entry{Event: sending}},
		{5, entry{Event: unknown, Reason: "reset"}},
		{6, entry{Event: sending}},
	}...)
	seen := petstore.Observation{Delivery: petstore.DeliveryAnswered, StatusCode: 429, RetryAfter: time.Minute, Received: time.Unix(7, 0).UTC()}
	require.NoError(t, j.keep(closedKey, seen))
	require.NoError(t, j.db.Close())

	j = journalOf(t, path)
	for line, want := range map[int]event{2: created, 3: rejected, 4: unsent, 5: unknown, 6: unknown, 7: waiting} {
		assert.Equal(t, want, j.row(line).Event, "line %d", line)
	}
	assert.True(t, j.added(1<<63-1))
	assert.Equal(t, 4, j.rows(created, rejected, unknown))
	assert.Equal(t, 2, j.rows(waiting, unsent))
	assert.Equal(t, "no \"name\"\n\x00 小白", j.row(3).Reason)
	assert.Equal(t, "the import ended before the response came", j.row(6).Reason)
	var closed petstore.Observation
	require.NoError(t, j.get(importBucket, closedKey, &closed))
	assert.Equal(t, seen, closed)
}

func TestJournal_refused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pets.csv.journal")
	require.NoError(t, journalOf(t, path).db.Close())
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("my notes\n"), 0o600))
	for _, test := range []struct{ path, service, input, reason string }{
		{path, "t", "i", "the journal of an import into s, not t"},
		{path, "s", "j", "the input has changed since this journal was begun"},
		{text, "s", "i", "invalid database"},
	} {
		before, err := os.ReadFile(test.path)
		require.NoError(t, err)
		_, err = openJournal(test.path, test.service, &input{sum: test.input, rows: 6})
		assert.ErrorContains(t, err, "journal "+test.path+": ")
		assert.ErrorContains(t, err, test.reason)
		after, err := os.ReadFile(test.path)
		require.NoError(t, err)
		assert.Len(t, after, len(before))
	}
}

// TestJournal_follows holds that no row is sent, or gets an outcome, twice.
func TestJournal_follows(t *testing.T) {
	ends := []event{created, rejected, unknown}
	for _, end := range ends {
		for _, next := range append(ends, sending, unsent, waiting, "lost") {
			j := journalOf(t, filepath.Join(t.TempDir(), "journal"), lineEntry{2, entry{Event: sending}}, lineEntry{2, entry{Event: end}})
			assert.ErrorContains(t, j.write(2, entry{Event: next}), "cannot become")
			assert.Equal(t, end, j.row(2).Event)
		}
	}
	for _, next := range []event{unsent, created, unknown} {
		assert.Error(t, journalOf(t, filepath.Join(t.TempDir(), "journal")).write(2, entry{Event: next}), "before it was sent")
	}
}

// TestJournal_failing has the journal fail after any time of an import.
func TestJournal_failing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for failAfter := range 20 {
			b := newBench(t, fake.NewTestServer(t, fake.WithLatency(time.Millisecond)), 100)
			j, err := b.job(t.Context(), serviceOf(b.server))
			require.NoError(t, err)
			time.AfterFunc(time.Duration(failAfter)*500*time.Microsecond, func() { assert.NoError(t, j.journal.db.Close()) })
			assert.ErrorContains(t, j.run(t.Context(), &b.summary, &b.out, &b.out), "the journal cannot be written")

			require.NoError(t, b.run(t.Context()))
			b.assertNothingLostOrRepeated(100)
		}
	})
}

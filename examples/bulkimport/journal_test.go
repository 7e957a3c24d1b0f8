package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// journalOf returns an open journal with these entries.
func journalOf(t *testing.T, path string, entries ...entry) *journal {
	t.Helper()
	j, err := openJournal(path, "a sum into s")
	require.NoError(t, err)
	t.Cleanup(func() { _ = j.file.Close() })
	for _, e := range entries {
		require.NoError(t, j.write(e))
	}
	return j
}

// sampleEntries leave rows in every state.
func sampleEntries() []entry {
	return []entry{
		{Line: 2, Event: sending},
		{Line: 3, Event: rejected, Reason: "no \"name\"\n\x00 小白"},
		{Line: 4, Event: sending},
		{Line: 4, Event: unsent},
		{Line: 2, Event: created, ID: 1<<63 - 1},
		{Line: 5, Event: sending},
		{Line: 5, Event: unknown, Reason: "reset"},
		{Until: time.Unix(4e9, 0)},
		{Line: 6, Event: sending},
	}
}

// events returns the last event of each row.
func (j *journal) events() map[int]event {
	all := map[int]event{}
	for line, e := range j.rows {
		all[line] = e.Event
	}
	return all
}

// The tests of the journal are not parallel: a program that another test starts would have its lock
// for the moment between fork and exec.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pets.csv.journal")
	j := journalOf(t, path, sampleEntries()...)
	_, err := j.file.WriteString(strings.Repeat("x", 500)) // more than the next entry overwrites
	require.NoError(t, errors.Join(err, j.file.Close()))
	require.NoError(t, journalOf(t, path).file.Close())
	j = journalOf(t, path)
	assert.Equal(t, map[int]event{2: created, 3: rejected, 4: unsent, 5: unknown, 6: unknown}, j.events())
	assert.True(t, j.added(1<<63-1))
	assert.Equal(t, 4, j.number(created, rejected, unknown))
	assert.Equal(t, "no \"name\"\n\x00 小白", j.row(3).Reason)
	assert.Contains(t, j.row(6).Reason, "before the response came")
	assert.True(t, j.until.Equal(time.Unix(4e9, 0)))
	for _, line := range []int{2, 3, 5} {
		j.err = nil
		assert.ErrorContains(t, j.write(entry{Line: line, Event: sending}), "cannot become sending")
	}
}

// TestJournal_damaged damages each byte, in all ways that change one bit and in some that change
// more, and cuts the file off at each. A damaged journal is refused; one that is cut off is what it
// was before the entry that is not complete.
func TestJournal_damaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pets.csv.journal")
	require.NoError(t, journalOf(t, path, sampleEntries()...).file.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	replay := func(text []byte) (map[int]event, error) {
		j := newJournal(nil)
		size, err := j.replay(text)
		if err == nil {
			require.Equal(t, bytes.LastIndexByte(text, '\n')+1, size)
		}
		return j.events(), err
	}
	for at, b := range whole {
		for _, flipped := range []byte{1, 2, 4, 8, 16, 32, 64, 128, 255, b, b ^ '\n', b ^ ' '} {
			text := bytes.Clone(whole)
			if text[at] ^= flipped; flipped != 0 {
				_, err := replay(text)
				require.ErrorContainsf(t, err, "damaged at byte ", "byte %d xor %x", at, flipped)
			}
		}
	}
	begun := bytes.IndexByte(whole, '\n')
	for size := range whole {
		got, err := replay(bytes.Clone(whole[:size]))
		if size > 0 && size <= begun {
			require.Error(t, err, "it may be another file of the user")
			continue
		}
		require.NoError(t, err)
		want, err := replay(bytes.Clone(whole[:bytes.LastIndexByte(whole[:size], '\n')+1]))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestJournal_refused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pets.csv.journal")
	require.NoError(t, journalOf(t, path).file.Close())
	notes := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(notes, []byte("my notes"), 0o600))
	for _, test := range []struct{ path, about, reason string }{
		{path, "a sum into t", "it is about the import of a sum into s, not a sum into t"},
		{notes, "a sum into s", "damaged at byte 0"},
	} {
		before, err := os.ReadFile(test.path)
		require.NoError(t, err)
		_, err = openJournal(test.path, test.about)
		assert.ErrorContains(t, err, "journal "+test.path+": "+test.reason)
		after, err := os.ReadFile(test.path)
		require.NoError(t, err)
		assert.Equal(t, before, after)
	}
}

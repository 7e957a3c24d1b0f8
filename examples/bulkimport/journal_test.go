package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// journalAt returns an open journal with rows in every state.
func journalAt(t *testing.T, path string) *journal {
	t.Helper()
	j, err := openJournal(path, "a sum")
	require.NoError(t, err)
	t.Cleanup(func() { _ = j.file.Close() })
	require.NoError(t, errors.Join(
		j.set(1, sending, 0), j.set(1, created, 1<<63-1), j.set(2, rejected, 0),
		j.set(3, sending, 0), j.set(3, unsent, 0), j.set(4, sending, 0), j.set(4, undecided, 0),
		j.set(0, waiting, 4e9), j.set(5, sending, 0)))
	return j
}

// replayed returns what a journal says when its file has this text.
func replayed(text string) (*journal, error) {
	j := &journal{rows: map[int]string{}, ids: map[int64]bool{}}
	_, err := j.replay(text, seal("import a sum"))
	delete(j.rows, 0)
	return j, err
}

// The tests of the journal are not parallel: a program that another test starts would have its lock
// for the moment between fork and exec.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	require.NoError(t, journalAt(t, path).file.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	whole := string(text)
	size := len(seal(""))

	t.Run("says the last state of each row", func(t *testing.T) {
		j, err := replayed(whole)
		require.NoError(t, err)
		assert.Equal(t, map[int]string{1: created, 2: rejected, 3: unsent, 4: undecided, 5: undecided}, j.rows)
		assert.True(t, j.ids[1<<63-1])
		assert.True(t, j.until.Equal(time.Unix(4e9, 0)))
	})
	t.Run("cut at a byte, is what it was before the record that is not complete", func(t *testing.T) {
		for cut := range whole {
			got, err := replayed(whole[:cut])
			require.NoError(t, err)
			want, err := replayed(whole[:cut-cut%size])
			require.NoError(t, err)
			require.Equal(t, want.rows, got.rows)
		}
	})
	t.Run("of any length, with a flipped bit, is refused if something was sent", func(t *testing.T) {
		for cut := range len(whole) + 1 {
			if cut > 2*size && cut%size > 0 { // longer ones only at the borders of records
				continue
			}
			want, err := replayed(whole[:cut])
			require.NoError(t, err)
			for at := range cut {
				for bit := range 8 {
					text := []byte(whole[:cut])
					text[at] ^= 1 << bit
					got, err := replayed(string(text))
					refused := cut >= 2*size && at < cut-cut%size || cut < 2*size && at < len("import ")
					if refused != (err != nil) || err == nil && !maps.Equal(want.rows, got.rows) {
						t.Fatalf("byte %d of %d, bit %d: %v, %v", at, cut, bit, err, got.rows)
					}
				}
			}
		}
	})
	t.Run("is continued behind its last whole record", func(t *testing.T) {
		require.NoError(t, os.WriteFile(path, []byte(whole[:len(whole)-1]), 0o600))
		j, err := openJournal(path, "a sum")
		require.NoError(t, errors.Join(err, j.set(5, sending, 0), j.file.Close()))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, whole, string(text))
	})
	t.Run("begins anew if it ends within its first record", func(t *testing.T) {
		for _, cut := range []int{0, 1, len("import "), size / 2, size - 1, size} {
			require.NoError(t, os.WriteFile(path, []byte(whole[:cut]), 0o600))
			j, err := openJournal(path, "the sum of a file that was changed meanwhile")
			require.NoError(t, errors.Join(err, j.file.Close()))
		}
	})
}

func TestJournal_refused(t *testing.T) {
	dir := t.TempDir()
	for reason, text := range map[string]string{
		"another file: move it away":         "my notes",
		"damaged at byte 0: restore it":      strings.Repeat("my notes\n", 100),
		"another service, or the file has":   seal("import b sum") + seal("1 sending 0"),
		fmt.Sprint("damaged at byte ", 2*82): seal("import a sum") + seal("1 sending 0") + strings.Repeat("\x00", 82),
	} {
		path := filepath.Join(dir, "journal")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := openJournal(path, "a sum")
		assert.ErrorContains(t, err, reason)
		assert.ErrorContains(t, err, "journal "+path+": ")
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, text, string(after), "it is as it was")
	}
	_, err := openJournal(dir, "a sum")
	assert.ErrorContains(t, err, "is not a regular file")
}

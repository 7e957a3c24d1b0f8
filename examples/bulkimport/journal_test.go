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

// steps are records with rows in every state, each with the state of its row if the program is
// killed after it.
var steps = []struct {
	row   int
	state string
	id    int64
	after string
}{
	{row: 1, state: sending, after: undecided},
	{row: 1, state: created, id: 1<<63 - 1, after: created},
	{row: 2, state: rejected, after: rejected},
	{row: 3, state: sending, after: undecided},
	{row: 3, state: unsent, after: unsent},
	{row: 0, state: waiting, id: 4e9, after: waiting}, // 0 is no row
	{row: 3, state: sending, after: undecided},
}

// replayed returns what a journal says when its file has this text.
func replayed(text string) (*journal, error) {
	j := &journal{rows: map[int]string{}, ids: map[int64]bool{}}
	_, err := j.replay(text, seal("import a sum"))
	delete(j.rows, 0)
	return j, err
}

var size = len(seal("")) // of a record

// rowsAfter returns the rows of a journal of that length, in which only whole records count.
func rowsAfter(length int) map[int]string {
	rows := map[int]string{}
	for i := 0; i < length/size-1; i++ {
		rows[steps[i].row] = steps[i].after
	}
	delete(rows, 0)
	return rows
}

// The tests of the journal are not parallel: a program that another test starts would hold the lock
// for the moment between fork and exec.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := openJournal(path, "a sum")
	require.NoError(t, err)
	for _, s := range steps {
		require.NoError(t, j.set(s.row, s.state, s.id))
	}
	require.NoError(t, j.file.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	whole := string(text)
	require.Len(t, whole, size*(1+len(steps)))

	t.Run("says what was created, and how long to wait", func(t *testing.T) {
		j, err := replayed(whole)
		require.NoError(t, err)
		assert.True(t, j.ids[1<<63-1])
		assert.True(t, j.until.Equal(time.Unix(4e9, 0)))
	})
	t.Run("of any length, says the last state of each row", func(t *testing.T) {
		for length := range len(whole) + 1 {
			got, err := replayed(whole[:length])
			require.NoError(t, err)
			require.Equal(t, rowsAfter(length), got.rows, "%d bytes", length)
		}
	})
	// It flips each bit of the short journals, in which nothing was sent, and one bit of each byte of
	// the others.
	t.Run("of any length, with a flipped bit, is refused if a record is lost", func(t *testing.T) {
		for length := range len(whole) + 1 {
			for flip := range length * 8 {
				at, bit := flip/8, flip%8
				if length > 2*size && bit != (at+length)%8 {
					continue
				}
				text := []byte(whole[:length])
				text[at] ^= 1 << bit
				got, err := replayed(string(text))
				lost := length >= 2*size && at < length-length%size
				if lost != (err != nil) || err == nil && !maps.Equal(rowsAfter(length), got.rows) {
					t.Fatalf("byte %d of %d, bit %d: %v, %v", at, length, bit, err, got.rows)
				}
			}
		}
	})
	t.Run("is continued behind its last whole record", func(t *testing.T) {
		require.NoError(t, os.WriteFile(path, []byte(whole[:len(whole)-1]), 0o600))
		j, err := openJournal(path, "a sum")
		require.NoError(t, errors.Join(err, j.set(3, sending, 0), j.file.Close()))
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
		"another file: move it away":           "my notes",
		"damaged at byte 0: restore it":        strings.Repeat("my notes\n", 100),
		"another service, or the file has":     seal("import b sum") + seal("1 sending 0"),
		fmt.Sprint("damaged at byte ", 2*size): seal("import a sum") + seal("1 sending 0") + strings.Repeat("\x00", size),
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
}

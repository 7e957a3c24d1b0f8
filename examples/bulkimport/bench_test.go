package main

import (
	"crypto/sha256"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkReplay reads the journal of a finished import: what a resume takes for each row.
func BenchmarkReplay(b *testing.B) {
	in := &input{sum: sha256.New(), rows: b.N, marks: make([]mark, b.N+2)}
	for line := 2; line < len(in.marks); line++ {
		in.marks[line] = newMark(waiting, 0)
	}
	again := *in
	again.marks = append([]mark(nil), in.marks...)
	path := filepath.Join(b.TempDir(), "journal")
	j, err := openJournal(path, "s", in)
	require.NoError(b, err)
	for line := 2; line < len(in.marks); line++ {
		require.NoError(b, j.write(entry{Line: line, Event: sending}))
		require.NoError(b, j.write(entry{Line: line, Event: created, ID: int64(line)}))
	}
	require.NoError(b, j.sync())
	require.NoError(b, j.file.Close())
	b.ResetTimer()
	b.ReportAllocs()
	j, err = openJournal(path, "s", &again)
	require.NoError(b, err)
	require.NoError(b, j.file.Close())
}

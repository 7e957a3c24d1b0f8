package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkReplay reads the journal of a finished import: what a resume takes for each row.
func BenchmarkReplay(b *testing.B) {
	in, again := inputOf(b.N), inputOf(b.N)
	path := filepath.Join(b.TempDir(), "journal")
	j, err := openJournal(path, "s", in)
	require.NoError(b, err)
	for line := 2; line < b.N+2; line++ {
		require.NoError(b, j.write(entry{Line: line, Event: sending}))
		require.NoError(b, j.write(entry{Line: line, Event: created, ID: int64(line)}))
	}
	require.NoError(b, j.close())
	b.ResetTimer()
	b.ReportAllocs()
	j, err = openJournal(path, "s", again)
	require.NoError(b, err)
	require.NoError(b, j.file.Close())
}

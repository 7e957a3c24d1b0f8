package credential

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// maxFile is the size of the longest key file in bytes. No key is that long; the limit is for a
	// device or a log file named by mistake.
	maxFile = 64 << 10
	// settled is the age from which a file's time proves that it is unchanged: some file systems
	// have a grain of two seconds, and a file can change twice within it.
	settled = 2 * time.Second
)

// File is a file with a key. It is safe for concurrent use. Its errors are *FileError.
type File struct {
	Path string // name of the file

	mu   sync.Mutex
	info fs.FileInfo   // of the file that key was read from; nil if it may have changed unnoticed
	key  func() string // a closure, so that no dump can print it
}

// Key returns the key, from the file if anew is true or the file has changed.
func (f *File) Key(anew bool) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !anew && f.info != nil {
		if now, err := os.Stat(f.Path); err == nil && os.SameFile(now, f.info) &&
			now.ModTime().Equal(f.info.ModTime()) && now.Size() == f.info.Size() {
			return f.key(), nil
		}
	}
	f.info = nil
	key, info, err := readFile(f.Path)
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err // without the path
		}
		return "", &FileError{err}
	}
	if time.Since(info.ModTime()) >= settled {
		f.info, f.key = info, func() string { return key }
	}
	return key, nil
}

// readFile returns the key in a file.
func readFile(name string) (string, fs.FileInfo, error) {
	file, err := os.Open(name) //nolint:gosec // the user names the file
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	key := strings.TrimSpace(string(text))
	switch {
	case len(text) > maxFile:
		err = errors.New("has more than 64 KiB")
	case err == nil && key == "":
		err = errors.New("is empty")
	}
	return key, info, err
}

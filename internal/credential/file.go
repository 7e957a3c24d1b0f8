package credential

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	// maxFile is the size of the longest key file in bytes. No key is that long; the limit is for a
	// log file named by mistake.
	maxFile = 64 << 10
	// settled is the age from which a file's time proves that it is unchanged: some file systems
	// have a grain of two seconds, and a file can change twice within it.
	settled = 2 * time.Second
)

// File is a file with a key. It is safe for concurrent use. Its errors are *FileError.
type File struct {
	path string
	// reading has one element while a goroutine reads the file. It is no mutex, because a file system
	// may hang, and calls whose contexts end must not wait for it.
	reading chan struct{}
	info    fs.FileInfo   // of the file that key was read from; nil if it may have changed unnoticed
	key     func() string // a closure, so that no dump can print it
}

// NewFile returns the file with that name, which is read when a key is needed.
func NewFile(path string) *File { return &File{path: path, reading: make(chan struct{}, 1)} }

// Key returns the key, from the file if anew is true or the file has changed.
func (f *File) Key(ctx context.Context, anew bool) (key string, err error) {
	select {
	case f.reading <- struct{}{}:
	case <-ctx.Done():
		return "", &FileError{context.Cause(ctx)}
	}
	done := make(chan struct{})
	var found string
	var failed error
	go func() {
		defer close(done)
		found, failed = f.current(anew)
		<-f.reading
	}()
	select {
	case <-done:
		return found, failed
	case <-ctx.Done():
		return "", &FileError{context.Cause(ctx)}
	}
}

// current returns the key. Only one goroutine may call it at a time.
func (f *File) current(anew bool) (string, error) {
	if !anew && f.info != nil {
		if now, err := os.Stat(f.path); err == nil && os.SameFile(now, f.info) &&
			now.ModTime().Equal(f.info.ModTime()) && now.Size() == f.info.Size() {
			return f.key(), nil
		}
	}
	f.info = nil
	key, info, err := readFile(f.path)
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

// readFile returns the key in a file. O_NONBLOCK is for a named pipe, which would wait for a writer.
func readFile(name string) (string, fs.FileInfo, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", nil, err
	}
	if !info.Mode().IsRegular() {
		return "", nil, errors.New("is not a regular file")
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

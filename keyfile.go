package petstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/petstore/petstore-go/internal/credential"
)

const (
	// maxKeyFile is the size of the longest key file in bytes. No key is that long; the limit is for
	// a device or a log file named by mistake.
	maxKeyFile = 64 << 10
	// settled is the age from which a file's time proves that it is unchanged: some file systems
	// have a grain of two seconds, and a file can change twice within it.
	settled = 2 * time.Second
)

// APIKeyFile returns a function for [WithAPIKeyFunc] that reads the key from a file of at most 64
// KiB, and again when the file has changed or the service has refused the key. White space around
// the key is ignored. Its errors say what is wrong, such as "no such file or directory", and match
// it, as [io/fs.ErrNotExist]. They never repeat the path, since a user may have set it to the key
// itself. The function is safe for concurrent use. A program that replaces the file should do so by
// renaming another one, so that no call finds it half written.
func APIKeyFile(path string) func(context.Context) (string, error) {
	f := &keyFile{path: path}
	return func(ctx context.Context) (string, error) {
		call, _ := CallFromContext(ctx)
		return f.get(call.KeyRefused)
	}
}

// keyFile is the file of APIKeyFile.
type keyFile struct {
	path string
	mu   sync.Mutex
	info fs.FileInfo   // of the file that key was read from; nil if it may have changed unnoticed
	key  func() string // a closure, so that no dump can print it
}

// get returns the key, from the file if anew is true or the file has changed.
func (f *keyFile) get(anew bool) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !anew && f.info != nil {
		if now, err := os.Stat(f.path); err == nil && os.SameFile(now, f.info) &&
			now.ModTime().Equal(f.info.ModTime()) && now.Size() == f.info.Size() {
			return f.key(), nil
		}
	}
	f.info = nil
	key, info, err := readKeyFile(f.path)
	if err != nil {
		return "", err
	}
	if time.Since(info.ModTime()) >= settled {
		f.info, f.key = info, func() string { return key }
	}
	return key, nil
}

// readKeyFile returns the key in a file.
func readKeyFile(name string) (string, fs.FileInfo, error) {
	file, err := os.Open(name) //nolint:gosec // the user names the file
	if err != nil {
		return "", nil, newKeyFileError(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", nil, newKeyFileError(err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFile+1))
	key := strings.TrimSpace(string(text))
	switch {
	case len(text) > maxKeyFile:
		err = errors.New("has more than 64 KiB")
	case err == nil && key == "":
		err = errors.New("is empty")
	}
	if err != nil {
		return "", nil, newKeyFileError(err)
	}
	return key, info, nil
}

// newKeyFileError leaves out the path, which an error of package os repeats.
func newKeyFileError(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return &credential.FileError{Err: err}
}

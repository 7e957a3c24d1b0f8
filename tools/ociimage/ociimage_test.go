package main

import (
	"archive/tar"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// writeLayout writes the layout of a small program, and returns its folder.
func writeLayout(t *testing.T) string {
	t.Helper()
	p := program{
		name: "petstore-fake", version: "1.2.3", revision: "abc",
		created:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		licenses: []byte("MPL-2.0"),
		binaries: map[string][]byte{"linux/amd64": []byte("for amd64"), "linux/arm64": []byte("for arm64")},
	}
	dir := t.TempDir()
	if err := p.write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents returns the files below a folder by their names.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[path[len(dir):]] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestWrite(t *testing.T) {
	t.Parallel()
	t.Run("equal input gives equal files", func(t *testing.T) {
		t.Parallel()
		first, again := contents(t, writeLayout(t)), contents(t, writeLayout(t))
		if len(first) != 9 || !maps.Equal(first, again) {
			t.Errorf("%d files, or the second layout differs from the first", len(first))
		}
	})
	t.Run("no image is an artifact", func(t *testing.T) {
		t.Parallel()
		for name, text := range contents(t, writeLayout(t)) {
			if strings.Contains(text, "artifactType") {
				t.Errorf("%s has an artifactType, which skopeo refuses: %s", name, text)
			}
		}
	})
	t.Run("each platform has its binary and runs it as nobody", func(t *testing.T) {
		t.Parallel()
		dir := writeLayout(t)
		for platform, want := range map[string]string{"linux/amd64": "for amd64", "linux/arm64": "for arm64"} {
			image, err := readImage(dir, platform)
			if err != nil {
				t.Fatal(err)
			}
			if got := binaryOf(t, image); got != want {
				t.Errorf("%s: the binary is %q, not %q", platform, got, want)
			}
			config, err := image.ConfigFile()
			if err != nil || config.Config.User != "65532:65532" || config.OS+"/"+config.Architecture != platform {
				t.Errorf("%s: %+v, %v", platform, config, err)
			}
		}
	})
}

// binaryOf returns the program in an image.
func binaryOf(t *testing.T, image v1.Image) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rootfs.tar")
	if err := writeRootFS(image, name); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "petstore-fake" {
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
}

func TestReadImage(t *testing.T) {
	t.Parallel()
	t.Run("a changed byte in any part is an error", func(t *testing.T) {
		t.Parallel()
		dir := writeLayout(t)
		files := contents(t, dir)
		delete(files, "/oci-layout") // it names the version of the format, which nobody reads
		for name, text := range files {
			changed := []byte(text)
			changed[len(changed)/2] ^= 1
			for _, content := range [][]byte{changed, []byte(text)} {
				if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
				if _, err := readImage(dir, "linux/amd64"); (err == nil) != (string(content) == text) {
					t.Errorf("%s: the error is %v", name, err)
				}
			}
		}
	})
	t.Run("another platform is an error", func(t *testing.T) {
		t.Parallel()
		if _, err := readImage(writeLayout(t), "linux/riscv64"); err == nil {
			t.Error("there is an image for linux/riscv64")
		}
	})
}

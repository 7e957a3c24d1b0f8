package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func testProgram() program {
	return program{
		name: "petstore-fake", version: "1.2.3", revision: "abc",
		created:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		licenses: []byte("MPL-2.0"),
		binaries: []platformBinary{
			{"linux/amd64", []byte("for amd64")}, {"linux/arm64", []byte("for arm64")},
		},
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	archive, err := testProgram().archive()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("equal input gives equal bytes", func(t *testing.T) {
		t.Parallel()
		again, err := testProgram().archive()
		if err != nil || !bytes.Equal(archive, again) {
			t.Errorf("the second archive differs from the first (%v)", err)
		}
	})
	t.Run("each platform unpacks to its binary", func(t *testing.T) {
		t.Parallel()
		for _, b := range testProgram().binaries {
			i, err := readImage(archive, b.platform)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := i.unpack(dir); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(dir, "petstore-fake"))
			if err != nil || !bytes.Equal(got, b.binary) {
				t.Errorf("%s: %q, %v", b.platform, got, err)
			}
			if i.config.Config.User != "65532:65532" {
				t.Errorf("the user is %q", i.config.Config.User)
			}
		}
	})
	t.Run("a changed byte is found", func(t *testing.T) {
		t.Parallel()
		broken := bytes.ReplaceAll(archive, []byte(`"User":"65532`), []byte(`"User":"00000`))
		if _, err := readImage(broken, "linux/amd64"); err == nil {
			t.Error("the image was read all the same")
		}
	})
	t.Run("another platform is refused", func(t *testing.T) {
		t.Parallel()
		if _, err := readImage(archive, "linux/riscv64"); err == nil {
			t.Error("there is an image for linux/riscv64")
		}
	})
}

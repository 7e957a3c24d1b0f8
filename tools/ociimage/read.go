package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// image is the image of one platform, every part of which has the digest that it is named by.
type image struct {
	config imageConfig
	layers [][]byte // tar
}

// maxFile bounds a file of an archive, so that a broken one does not fill the memory.
const maxFile = 256 << 20

// readImage reads the image of a platform from the tar of an OCI layout.
func readImage(archive []byte, want string) (*image, error) {
	files, err := readTar(archive)
	if err != nil {
		return nil, err
	}
	var layout, platforms index
	if err := json.Unmarshal(files["index.json"], &layout); err != nil {
		return nil, fmt.Errorf("index.json: %w", err)
	}
	if len(layout.Manifests) != 1 {
		return nil, fmt.Errorf("index.json names %d images", len(layout.Manifests))
	}
	if err := files.decode(layout.Manifests[0], typeIndex, &platforms); err != nil {
		return nil, err
	}
	for _, d := range platforms.Manifests {
		if d.Platform != nil && d.Platform.OS+"/"+d.Platform.Architecture == want {
			return files.image(d)
		}
	}
	return nil, fmt.Errorf("there is no image for %s", want)
}

// tarFiles are the files of a tar by their names.
type tarFiles map[string][]byte

func readTar(archive []byte) (tarFiles, error) {
	files := make(tarFiles)
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(r, maxFile))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.Name, err)
		}
		files[h.Name] = content
	}
}

// blob returns a part of the image, which must be what its descriptor says.
func (f tarFiles) blob(d descriptor, mediaType string) ([]byte, error) {
	content, ok := f["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
	sum := sha256.Sum256(content)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s is missing", d.Digest)
	case d.MediaType != mediaType:
		return nil, fmt.Errorf("%s is of type %s, not %s", d.Digest, d.MediaType, mediaType)
	case len(content) != d.Size || d.Digest != "sha256:"+hex.EncodeToString(sum[:]):
		return nil, fmt.Errorf("%s has another content than its digest and size say", d.Digest)
	}
	return content, nil
}

func (f tarFiles) decode(d descriptor, mediaType string, v any) error {
	content, err := f.blob(d, mediaType)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, v)
}

// image reads the image of a manifest.
func (f tarFiles) image(d descriptor) (*image, error) {
	var m manifest
	if err := f.decode(d, typeManifest, &m); err != nil {
		return nil, err
	}
	var i image
	if err := f.decode(m.Config, typeConfig, &i.config); err != nil {
		return nil, err
	}
	if len(m.Layers) != len(i.config.RootFS.DiffIDs) {
		return nil, fmt.Errorf("%d layers have %d digests", len(m.Layers), len(i.config.RootFS.DiffIDs))
	}
	for n, d := range m.Layers {
		content, err := f.blob(d, typeLayer)
		if err != nil {
			return nil, err
		}
		z, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			return nil, err
		}
		layer, err := io.ReadAll(io.LimitReader(z, maxFile))
		if err != nil {
			return nil, err
		}
		if got := make(blobs).add("", layer).Digest; got != i.config.RootFS.DiffIDs[n] {
			return nil, fmt.Errorf("layer %d unpacks to %s, not %s", n, got, i.config.RootFS.DiffIDs[n])
		}
		i.layers = append(i.layers, layer)
	}
	return &i, nil
}

// unpack writes the files of the image into a folder, which must exist.
func (i *image) unpack(folder string) error {
	root, err := os.OpenRoot(folder) // no name in the image leads out of it
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is lost with it
	for _, layer := range i.layers {
		for r := tar.NewReader(bytes.NewReader(layer)); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if err := unpackFile(root, h, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func unpackFile(root *os.Root, h *tar.Header, content io.Reader) error {
	mode := h.FileInfo().Mode().Perm()
	if h.Typeflag == tar.TypeDir {
		return root.MkdirAll(path.Clean(h.Name), mode)
	}
	f, err := root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, content); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

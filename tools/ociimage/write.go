package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// program is what the image is made of.
type program struct {
	name, version, revision string
	created                 time.Time
	licenses                []byte
	binaries                []platformBinary
}

type platformBinary struct {
	platform string
	binary   []byte
}

// user is nobody on any system: above the ids that systems give out, with no name in the image.
const user = 65532

// source is where the image's labels lead.
const source = "https://github.com/petstore/petstore-go"

// blobs are the parts of an image by their digests.
type blobs map[string][]byte

func (b blobs) add(mediaType string, content []byte) descriptor {
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	b[digest] = content
	return descriptor{MediaType: mediaType, Digest: digest, Size: len(content)}
}

func (b blobs) addJSON(mediaType string, value any) (descriptor, error) {
	text, err := json.Marshal(value)
	return b.add(mediaType, text), err
}

// archive returns the image as a tar of its OCI layout: one manifest for each platform, an index of
// these, and the index of the layout, which names that one.
func (p program) archive() ([]byte, error) {
	b := make(blobs)
	platforms := index{SchemaVersion: 2, MediaType: typeIndex, Annotations: p.labels()}
	for _, one := range p.binaries {
		d, err := p.addPlatform(b, one)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.platform, err)
		}
		platforms.Manifests = append(platforms.Manifests, d)
	}
	d, err := b.addJSON(typeIndex, platforms)
	if err != nil {
		return nil, err
	}
	d.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": p.version,
		"io.containerd.image.name":          p.name + ":" + p.version, // the name after docker load
	}
	layout, err := json.Marshal(index{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{d}})
	if err != nil {
		return nil, err
	}
	files := []file{
		{name: "oci-layout", mode: 0o644, content: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, content: layout},
	}
	for _, digest := range slices.Sorted(maps.Keys(b)) {
		name := "blobs/" + strings.Replace(digest, ":", "/", 1)
		files = append(files, file{name: name, mode: 0o644, content: b[digest]})
	}
	return p.tar(files)
}

// addPlatform adds the image of one platform.
func (p program) addPlatform(b blobs, one platformBinary) (descriptor, error) {
	system, architecture, ok := strings.Cut(one.platform, "/")
	if !ok {
		return descriptor{}, fmt.Errorf("%q is not OS/ARCHITECTURE", one.platform)
	}
	rootfs, err := p.tar([]file{
		{name: "ca/", mode: 0o755, owner: user},
		{name: "licenses.txt", mode: 0o644, content: p.licenses},
		{name: p.name, mode: 0o755, content: one.binary},
	})
	if err != nil {
		return descriptor{}, err
	}
	var layer bytes.Buffer
	z := gzip.NewWriter(&layer)
	if _, err := z.Write(rootfs); err != nil {
		return descriptor{}, err
	}
	if err := z.Close(); err != nil {
		return descriptor{}, err
	}
	diffID := make(blobs).add("", rootfs).Digest
	config, err := b.addJSON(typeConfig, imageConfig{
		Created: p.created, Architecture: architecture, OS: system, Config: p.runConfig(),
		RootFS:  rootFS{"layers", []string{diffID}},
		History: []history{{p.created, "ociimage write"}},
	})
	if err != nil {
		return descriptor{}, err
	}
	d, err := b.addJSON(typeManifest, manifest{
		SchemaVersion: 2, MediaType: typeManifest, Config: config,
		Layers: []descriptor{b.add(typeLayer, layer.Bytes())}, Annotations: p.labels(),
	})
	d.Platform = &platform{architecture, system}
	return d, err
}

// runConfig says how the program runs in a container: for everybody who reaches it, as nobody, and
// with itself as the check of its health.
func (p program) runConfig() runConfig {
	return runConfig{
		User:         fmt.Sprintf("%d:%d", user, user),
		ExposedPorts: map[string]struct{}{"4010/tcp": {}},
		Env:          []string{"PETSTORE_FAKE_ADDR=:4010", "PETSTORE_FAKE_PUBLIC=true"},
		Entrypoint:   []string{"/" + p.name},
		Labels:       p.labels(),
		Healthcheck: healthcheck{
			Test:     []string{"CMD", "/" + p.name, "-healthcheck"},
			Interval: 5 * time.Second, Timeout: 3 * time.Second,
			StartPeriod: 5 * time.Second, Retries: 3,
		},
	}
}

func (p program) labels() map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":    p.name,
		prefix + "version":  p.version,
		prefix + "revision": p.revision,
		prefix + "source":   source,
		prefix + "created":  p.created.Format(time.RFC3339),
		prefix + "licenses": "MPL-2.0",
	}
}

// file is a file in a tar, or a folder if its name ends in a slash.
type file struct {
	name    string
	mode    int64
	owner   int
	content []byte
}

// tar returns files as a tar without anything of the machine that writes it.
func (p program) tar(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{
			Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: p.created,
			Uid: f.owner, Gid: f.owner, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// program is what the image is made of.
type program struct {
	name, version, revision string
	created                 time.Time
	licenses                []byte
	binaries                map[string][]byte // by platform, such as linux/amd64
}

// user is the id that the program runs as: above the ids that systems give out, so that it owns
// nothing on any host, and without a name in the image.
const user = 65532

// source is the repository that the image's labels name.
const source = "https://github.com/petstore/petstore-go"

// write writes the layout into a folder: an image for each platform, an index of these, and the
// index of the layout, which names that one.
func (p program) write(folder string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range slices.Sorted(maps.Keys(p.binaries)) {
		target, err := v1.ParsePlatform(platform)
		if err != nil {
			return err
		}
		image, err := p.image(*target, p.binaries[platform])
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: container{image}, Descriptor: v1.Descriptor{Platform: target},
		})
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	index = mutate.Annotations(index, p.labels()).(v1.ImageIndex)
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": p.version,
		"io.containerd.image.name":          p.name + ":" + p.version, // the name after docker load
	}))
}

// container is an image that runs. For an image without this method the library writes the type of
// the configuration into the index as the type of an artifact, and skopeo refuses such an index.
type container struct{ v1.Image }

// ArtifactType returns "": a container image is no artifact.
func (container) ArtifactType() (string, error) { return "", nil }

// image returns the image of one platform.
func (p program) image(target v1.Platform, binary []byte) (v1.Image, error) {
	files, err := p.files(binary)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		Created: v1.Time{Time: p.created}, OS: target.OS, Architecture: target.Architecture,
		Config: p.config(), RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	image, err = mutate.Append(image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: p.created}, CreatedBy: "ociimage write"},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, p.labels()).(v1.Image), nil
}

// config says how the program runs in a container: on every address, as a user that owns nothing,
// and with itself as the check of its health.
func (p program) config() v1.Config {
	return v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user),
		ExposedPorts: map[string]struct{}{"4010/tcp": {}},
		Env:          []string{"PETSTORE_FAKE_ADDR=:4010", "PETSTORE_FAKE_PUBLIC=true"},
		Entrypoint:   []string{"/" + p.name},
		Labels:       p.labels(),
		Healthcheck: &v1.HealthConfig{
			Test:     []string{"CMD", "/" + p.name, "-healthcheck"},
			Interval: 5 * time.Second, Timeout: 3 * time.Second, StartPeriod: 5 * time.Second, Retries: 3,
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

// files returns the image's files as a tar, in which nothing depends on the machine that writes it.
func (p program) files(binary []byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range []struct {
		tar.Header
		content []byte
	}{
		{tar.Header{Name: "ca/", Typeflag: tar.TypeDir, Mode: 0o755, Uid: user, Gid: user}, nil},
		{tar.Header{Name: "licenses.txt", Typeflag: tar.TypeReg, Mode: 0o644}, p.licenses},
		{tar.Header{Name: p.name, Typeflag: tar.TypeReg, Mode: 0o755}, binary},
	} {
		f.Size, f.ModTime, f.Format = int64(len(f.content)), p.created, tar.FormatUSTAR
		if err := w.WriteHeader(&f.Header); err != nil {
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

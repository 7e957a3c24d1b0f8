package main

import (
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// readImage reads the image of a platform from a layout, of which every part must be valid and have
// the digest that it is named by.
func readImage(folder, platform string) (v1.Image, error) {
	target, err := v1.ParsePlatform(platform)
	if err != nil {
		return nil, err
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	if err := validate.Index(index); err != nil {
		return nil, err
	}
	programs, err := partial.FindIndexes(index, match.MediaTypes(string(types.OCIImageIndex)))
	if err != nil {
		return nil, err
	}
	if len(programs) != 1 {
		return nil, fmt.Errorf("index.json names %d images, not 1", len(programs))
	}
	images, err := partial.FindImages(programs[0], match.Platforms(*target))
	if err != nil {
		return nil, err
	}
	if len(images) != 1 {
		return nil, fmt.Errorf("there are %d images for %s, not 1", len(images), platform)
	}
	return images[0], nil
}

// writeRootFS writes the files of an image as a tar.
func writeRootFS(image v1.Image, name string) error {
	files := mutate.Extract(image)
	defer files.Close()
	f, err := os.Create(name) //nolint:gosec // named on the command line
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, files); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

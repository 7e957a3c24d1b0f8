package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tree is where the modules are.
type tree struct {
	root  string // github.com/petstore/petstore-go
	bench string // this module
}

func findTree(ctx context.Context) (tree, error) {
	out, err := run(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/petstore/petstore-go", "github.com/petstore/petstore-go/bench")
	if err != nil {
		return tree{}, fmt.Errorf("run this in the folder bench: %w", err)
	}
	dirs := strings.Split(strings.TrimSpace(out), "\n")
	if len(dirs) != 2 {
		return tree{}, fmt.Errorf("run this in the folder bench: go list says %q", out)
	}
	return tree{root: dirs[0], bench: dirs[1]}, nil
}

// build generates the clients of ogen and oapi-codegen into folders below tmp and builds this program with
// them laid over the tree, which stays as it is. It returns the path of the program.
func (t tree) build(ctx context.Context, tmp string) (string, error) {
	spec := filepath.Join(t.root, "openapi.yaml")
	ogen, oapi := filepath.Join(tmp, "ogenapi"), filepath.Join(tmp, "oapi")
	if err := os.Mkdir(oapi, 0o700); err != nil {
		return "", err
	}
	_, err := run(ctx, t.bench, "go", "tool", "ogen", "--target", ogen, "--package", "ogenapi", spec)
	if err != nil {
		return "", err
	}
	_, err = run(ctx, t.bench, "go", "tool", "oapi-codegen", "-generate", "types,client", "-package", "oapi",
		"-o", filepath.Join(oapi, "oapi.gen.go"), spec)
	if err != nil {
		return "", err
	}
	overlay, err := t.overlay(tmp, ogen, oapi)
	if err != nil {
		return "", err
	}
	program := filepath.Join(tmp, "driver")
	_, err = run(ctx, t.bench, "go", "build", "-buildvcs=false", "-tags", "generated", "-overlay", overlay,
		"-o", program, ".")
	return program, err
}

// overlay writes the file that tells the go command of the generated files.
func (t tree) overlay(tmp string, folders ...string) (string, error) {
	replace := map[string]string{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			replace[filepath.Join(t.bench, "internal", filepath.Base(folder), filepath.Base(file))] = file
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(tmp, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}

// run runs a program and returns its standard output. What it says on standard error is part of the error
// if it fails, and is dropped if not: the generators warn of spellings.
func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	var out, errs strings.Builder
	err := runWith(ctx, dir, &out, &errs, name, args...)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, errs.String())
	}
	return out.String(), nil
}

func runWith(ctx context.Context, dir string, out, errs io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // go, and what it has just built
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, errs
	cmd.Env = append(os.Environ(), "GOWORK=off")
	return cmd.Run()
}

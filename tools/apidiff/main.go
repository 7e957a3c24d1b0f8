// Command apidiff tells what has changed in the exported API of the packages of a module between two trees of it. Its
// exit status is 3 if a program that was written for the old one may not build with the new one.
//
//	apidiff old new
package main

import (
	"errors"
	"fmt"
	"go/types"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/tools/go/packages"
)

const statusBroken = 3

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: apidiff old new")
		os.Exit(2)
	}
	broken, err := compare(os.Stdout, os.Args[1], os.Args[2])
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "apidiff:", err)
		os.Exit(1)
	case broken:
		os.Exit(statusBroken)
	}
}

func compare(w io.Writer, oldTree, newTree string) (broken bool, err error) {
	before, err := load(oldTree)
	if err != nil {
		return false, err
	}
	after, err := load(newTree)
	if err != nil {
		return false, err
	}
	paths := make([]string, 0, len(before))
	for path := range before {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		if after[path] == nil {
			fmt.Fprintf(w, "%s: removed\n", path)
			broken = true
			continue
		}
		for _, c := range apidiff.Changes(before[path], after[path]).Changes {
			word := "breaks"
			if c.Compatible {
				word = "adds"
			}
			broken = broken || !c.Compatible
			fmt.Fprintf(w, "%s %s: %s\n", word, path, c.Message)
		}
	}
	return broken, nil
}

var errNoPackages = errors.New("no package can be imported from there")

// load returns the packages of a module that others may import.
func load(tree string) (map[string]*types.Package, error) {
	mode := packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax
	all, err := packages.Load(&packages.Config{Mode: mode, Dir: tree}, "./...")
	if err != nil {
		return nil, err
	}
	found := make(map[string]*types.Package)
	for _, p := range all {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		if p.Name != "main" && !strings.Contains(p.PkgPath+"/", "/internal/") {
			found[p.PkgPath] = p.Types
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: %w", tree, errNoPackages)
	}
	return found, nil
}

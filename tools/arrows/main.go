// Command arrows counts which files of a package use which others, from types: there is an arrow
// from a file to each other file that declares something that it names. It prints the files so that
// each stands above those that it uses, as far as possible, and their arrows with the names that
// make them:
//
//	go run ./arrows .. | grep -v '	to'      the order of the files of the root package
//	go run ./arrows .. | grep -A 9 ^log.go   what log.go uses
package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// graph has the arrows from file to file, with the names that make them.
type graph map[string]map[string]map[string]bool

func main() {
	g, err := load(os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var lines []string
	above, total, back := map[string]bool{}, 0, 0
	for _, from := range topDown(g) {
		lines = append(lines, from)
		above[from] = true
		for _, to := range slices.Sorted(maps.Keys(g[from])) {
			total++
			word := "to"
			if above[to] {
				word = "BACK to"
				back++
			}
			names := strings.Join(slices.Sorted(maps.Keys(g[from][to])), " ")
			lines = append(lines, fmt.Sprintf("\t%s %s: %s", word, to, names))
		}
	}
	fmt.Fprintf(os.Stdout, "%d files, %d arrows, %d of them back\n", len(g), total, back)
	fmt.Fprintln(os.Stdout, strings.Join(lines, "\n"))
}

// load returns the arrows of the package in a folder, without its tests.
func load(folder string) (graph, error) {
	const mode = packages.LoadSyntax | packages.NeedDeps
	pkgs, err := packages.Load(&packages.Config{Mode: mode, Dir: folder}, ".")
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", folder, err)
	}
	if packages.PrintErrors(pkgs) > 0 {
		return nil, fmt.Errorf("%s has errors", folder)
	}
	pkg, g := pkgs[0], graph{}
	for _, file := range pkg.Syntax {
		g[filepath.Base(pkg.Fset.File(file.Pos()).Name())] = map[string]map[string]bool{}
	}
	for ident, object := range pkg.TypesInfo.Uses {
		from := filepath.Base(pkg.Fset.Position(ident.Pos()).Filename)
		to := filepath.Base(pkg.Fset.Position(object.Pos()).Filename)
		if object.Pkg() != pkg.Types || from == to {
			continue
		}
		if g[from][to] == nil {
			g[from][to] = map[string]bool{}
		}
		g[from][to][object.Name()] = true
	}
	return g, nil
}

// topDown returns the files in order: next is always that which the fewest of the rest use, and of
// several the one that uses the most.
func topDown(g graph) (order []string) {
	rest := slices.Sorted(maps.Keys(g))
	users := func(of string) (n int) {
		for _, file := range rest {
			if g[file][of] != nil {
				n++
			}
		}
		return n
	}
	for len(rest) > 0 {
		next := slices.MinFunc(rest, func(a, b string) int {
			return cmp.Or(users(a)-users(b), len(g[b])-len(g[a]))
		})
		order = append(order, next)
		rest = slices.DeleteFunc(rest, func(file string) bool { return file == next })
	}
	return order
}

// Command arrows counts which files of a package use which others, from types: there is an arrow from
// a file to each other file that declares something that it names. It prints the files in an order in
// which as few arrows as possible run back, and these.
//
//	go run ./arrows ..             counts those of the root package
//	go run ./arrows -v .. log.go   also shows all arrows of log.go, with the names that make them
package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// graph has the arrows from file to file, with the names that make them.
type graph map[string]map[string]map[string]bool

func main() {
	verbose := flag.Bool("v", false, "show the arrows of the files that follow the folder; of all if there is none")
	flag.Parse()
	g, err := load(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	order := bestOrder(g)
	total, out := 0, os.Stdout
	for _, to := range g {
		total += len(to)
	}
	fmt.Fprintf(out, "%d files, %d arrows, %d of them back\n", len(g), total, back(g, order))
	for i, from := range order {
		fmt.Fprintln(out, from)
		for _, to := range slices.Sorted(maps.Keys(g[from])) {
			runsBack := slices.Index(order, to) < i
			shown := *verbose && (flag.NArg() < 2 || slices.Contains(flag.Args(), from))
			if runsBack || shown {
				names := strings.Join(slices.Sorted(maps.Keys(g[from][to])), " ")
				fmt.Fprintf(out, "\t%s %s: %s\n", map[bool]string{true: "BACK", false: "to"}[runsBack], to, names)
			}
		}
	}
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
		if object.Pkg() != pkg.Types {
			continue
		}
		from := filepath.Base(pkg.Fset.Position(ident.Pos()).Filename)
		to := filepath.Base(pkg.Fset.Position(object.Pos()).Filename)
		if from != to {
			if g[from][to] == nil {
				g[from][to] = map[string]bool{}
			}
			g[from][to][object.Name()] = true
		}
	}
	return g, nil
}

// back counts the arrows that run from a later file to an earlier one.
func back(g graph, order []string) (n int) {
	for i, from := range order {
		for _, to := range order[:i] {
			if g[from][to] != nil {
				n++
			}
		}
	}
	return n
}

// bestOrder moves one file after the other to its best place until no move helps, from some random
// orders, always the same ones.
func bestOrder(g graph) []string {
	files := slices.Sorted(maps.Keys(g))
	best := slices.Clone(files)
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 { // enough for thirty files: more find no better order
		order := slices.Clone(files)
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for last := back(g, order) + 1; back(g, order) < last; {
			last = back(g, order)
			for _, file := range files {
				i := slices.Index(order, file)
				rest := slices.Delete(slices.Clone(order), i, i+1)
				for j := range order {
					if moved := slices.Insert(slices.Clone(rest), j, file); back(g, moved) < back(g, order) {
						order = moved
					}
				}
			}
		}
		if back(g, order) < back(g, best) {
			best = order
		}
	}
	return best
}

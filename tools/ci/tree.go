package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// released are the modules of a release.
var released = []string{".", "petstoreredis", "petstoreotel"}

// modules returns the folders of all modules, that of the root first, with slashes.
func (r repository) modules() ([]string, error) { return r.folders("*go.mod") }

// folders returns the folders of the files that git knows by a pattern, but for test data.
func (r repository) folders(pattern string) (found []string, err error) {
	const known = "git ls-files --cached --others --exclude-standard :!testdata "
	files, err := output(in(r.root, strings.Fields(known+pattern)...))
	for file := range strings.FieldsSeq(files) {
		found = append(found, path.Dir(file))
	}
	slices.Sort(found)
	return found, err
}

// shipped reports whether users get or copy a module.
func shipped(module string) bool {
	return !regexp.MustCompile(`^(tools|bench|openapi)|/e2e$`).MatchString(module)
}

func isInternal(pkg string) bool { return strings.Contains(pkg, "/internal/") }

// shippedModules returns the modules that users get or copy.
func (r repository) shippedModules() ([]string, error) {
	all, err := r.modules()
	return slices.DeleteFunc(all, func(module string) bool { return !shipped(module) }), err
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// checkModules checks that go.mod and go.sum of every module are tidy, and the modules of those that
// ship are what was published.
func checkModules(r repository) error {
	folders, err := r.modules()
	for _, folder := range folders {
		err = errors.Join(err, r.show(in(r.path(folder), "go", "mod", "tidy", "-diff")))
		if shipped(folder) {
			err = errors.Join(err, r.show(in(r.path(folder), "go", "mod", "verify")))
		}
	}
	return err
}

// checkFIPS imports and uses each module that ships in FIPS-only mode. The Redis of the examples that
// have one needs SHA-1 itself.
func checkFIPS(r repository) error {
	folders, err := r.shippedModules()
	for _, folder := range folders {
		tests := "^(Example|TestRun)"
		if folder == "petstoreredis" {
			tests = "FIPS"
		}
		listed, failed := output(in(r.path(folder), "go", "list", "./..."))
		packages := slices.DeleteFunc(strings.Fields(listed), isInternal)
		c := in(r.path(folder), append([]string{"go", "test", "-count=1", "-run", tests}, packages...)...)
		c.env = []string{"GODEBUG=fips140=only"}
		err = errors.Join(err, failed, r.show(c))
	}
	return err
}

// runExamples runs every program under examples/ as it is, against the fake, and compares what it
// prints with its comment.
func runExamples(r repository) error {
	list, err := output(in(r.root, "go", "list", "-f", `{{if eq .Name "main"}}{{.Dir}}{{end}}`, "./examples/..."))
	if err != nil {
		return err
	}
	for dir := range strings.FieldsSeq(list) {
		err = errors.Join(err, r.runExample(dir))
	}
	// A module of its own, which keeps a journal beside its input.
	folder := r.path("examples", "bulkimport")
	return errors.Join(err, r.runExample(folder, "-dir", r.temp, filepath.Join(folder, "pets.csv")))
}

func (r repository) runExample(dir string, args ...string) error {
	program := r.path("bin", "examples", filepath.Base(dir))
	if err := r.show(in(dir, "go", "build", "-buildvcs=false", "-o", program, ".")); err != nil {
		return err
	}
	printed, err := output(in(r.root, append([]string{"timeout", "120", program}, args...)...))
	r.printf("%s\n", printed)
	if err != nil {
		return err
	}
	comment, err := os.ReadFile(filepath.Join(dir, "main.go")) //nolint:gosec // a file of the repository
	if err != nil {
		return err
	}
	if len(args) == 0 && !strings.Contains(string(comment), "// It prints") {
		return fmt.Errorf("%s: the comment of main.go does not show what it prints", dir)
	}
	for _, line := range missingLines(string(comment), printed) {
		err = errors.Join(err, fmt.Errorf("%s: the comment of main.go shows %q, which is not printed", dir, line))
	}
	return err
}

// missingLines returns the lines that a comment shows after "It prints" and that a program did not
// print. Numbers may be others: some are times.
func missingLines(comment, printed string) (missing []string) {
	number := regexp.MustCompile(`[0-9]+`)
	lines := strings.Split(number.ReplaceAllString(printed, "0"), "\n")
	_, shown, _ := strings.Cut(comment, "// It prints")
	shown, _, _ = strings.Cut(shown, "\npackage ")
	for line := range strings.Lines(shown) {
		text, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "//\t")
		if ok && text != "..." && !slices.Contains(lines, number.ReplaceAllString(text, "0")) {
			missing = append(missing, text)
		}
	}
	return missing
}

// checkNested lints and tests the nested modules.
func checkNested(r repository) error {
	return r.checkModulesIf(false, func(string) bool { return true })
}

// checkChanged lints and tests, in short, the nested modules that the changes since origin/main
// reach.
func checkChanged(r repository) error {
	files, err := output(in(r.root, "git", "diff", "--name-only", "origin/main"))
	if err != nil {
		return err
	}
	return r.checkModulesIf(true, func(folder string) bool { return reached(folder, strings.Fields(files)) })
}

func (r repository) checkModulesIf(short bool, wanted func(folder string) bool) error {
	folders, err := r.modules()
	for _, folder := range folders {
		if test := testOf(folder, short); test != nil && wanted(folder) {
			r.printf("-- %s\n", folder)
			err = errors.Join(err, r.show(in(r.path(folder), r.tool("golangci-lint"), "run", "./...")),
				r.show(in(r.path(folder), test...)))
		}
	}
	return err
}

// testOf returns the command that tests a nested module, nil if there is none.
func testOf(folder string, short bool) []string {
	switch {
	case folder == ".":
		return nil
	case strings.HasSuffix(folder, "/e2e"): // the step ui runs them
		return []string{"go", "vet", "./..."}
	case short:
		return []string{"go", "test", "-short", "./..."}
	case folder == "petstoreredis": // the step redis runs the others
		return []string{"go", "test", "-skip", "OnRedis", "./..."}
	case folder == "bench": // with the generated clients
		return []string{"./run", "check"}
	}
	return []string{"go", "test", "./..."}
}

// reached reports whether changed files have an effect on a nested module: its own, and those of the
// root module that are not tests.
func reached(folder string, files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		code := strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go")
		root := code && !regexp.MustCompile(`^(bench|tools)/`).MatchString(file) ||
			file == "cmd/petstore-fake/openapi.yaml"
		return strings.HasPrefix(file, folder+"/") || root && folder != "tools"
	})
}

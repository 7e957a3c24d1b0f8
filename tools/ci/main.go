// Command ci has the steps of .ci/run that read what other programs print. It runs in the root folder
// of the repository, and finds the tools in bin/tools:
//
//	ci api          compares the exported API with that of the last release
//	ci changed      lints and tests, in short, the nested modules that changes since origin/main reach
//	ci examples     runs every program under examples/, and compares what it prints with its comment
//	ci fips         uses each module that ships in FIPS-only mode
//	ci getmodules   gets each module of a release, as users do
//	ci licenses     compares what is linked with docs/licenses.csv
//	ci modules      checks go.mod and go.sum of every module
//	ci nested       lints and tests the nested modules
//	ci release      builds a release twice from clones, and tries it
//	ci vuln         looks for known vulnerabilities
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const modulePath = "github.com/petstore/petstore-go"

func main() {
	steps := map[string]func(repository) error{
		"api": checkAPI, "changed": checkChanged, "examples": runExamples, "fips": checkFIPS,
		"getmodules": getModules, "licenses": checkLicenses, "modules": checkModules,
		"nested": checkNested, "release": checkRelease, "vuln": checkVulnerabilities,
	}
	if len(os.Args) < 2 || steps[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "ci: no such step:", os.Args[1:])
		os.Exit(2)
	}
	if err := withRepository(steps[os.Args[1]]); err != nil {
		fmt.Fprintln(os.Stderr, "ci:", err)
		os.Exit(1)
	}
}

// repository is the working tree, a temporary folder, and where its steps write.
type repository struct {
	root, temp string
	out        io.Writer
}

func withRepository(step func(repository) error) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "ci")
	if err != nil {
		return err
	}
	return errors.Join(step(repository{root, temp, os.Stdout}), os.RemoveAll(temp))
}

func (r repository) path(parts ...string) string {
	return filepath.Join(append([]string{r.root}, parts...)...)
}

func (r repository) tool(name string) string { return r.path("bin", "tools", name) }

func (r repository) printf(format string, args ...any) { fmt.Fprintf(r.out, format, args...) }

// command is a program to run in a folder, with more in its environment.
type command struct {
	dir  string
	env  []string
	args []string
}

func (c command) cmd() *exec.Cmd {
	cmd := exec.Command(c.args[0], c.args[1:]...) //nolint:noctx,gosec // it ends with this program, which names it
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	return cmd
}

// show prints a command and what it prints.
func (r repository) show(c command) error {
	r.printf("$ %s\n", strings.Join(append(c.env, c.args...), " "))
	cmd := c.cmd()
	cmd.Stdout, cmd.Stderr = r.out, r.out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s in %s: %w", c.args[0], c.dir, err)
	}
	return nil
}

// output returns what a command prints, without the last line feed, and both outputs if it fails.
func output(c command) (string, error) {
	cmd := c.cmd()
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", strings.Join(c.args, " "), err, out, &errs)
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

// in returns a command in a folder.
func in(dir string, args ...string) command { return command{dir: dir, args: args} }

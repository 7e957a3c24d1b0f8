package main

import (
	"errors"
	"fmt"
	"go/types"
	"os"
	"regexp"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/tools/go/packages"
)

// checkAPI compares the exported API with that of the last release: within a minor version nothing
// breaks. The last release is the commit of its tag or, in a clone without tags, the commit that gave
// the changelog its heading.
func checkAPI(r repository) error {
	changelog, err := os.ReadFile(r.path("CHANGELOG.md"))
	if err != nil {
		return err
	}
	version := submatch(`(?m)^## \[([0-9.]+)\]`, string(changelog))
	if version == "" {
		r.printf("there is no release yet\n")
		return nil
	}
	commit, err := output(in(r.root, "git", "rev-parse", "-q", "--verify", "v"+version+"^{commit}"))
	if err != nil {
		commits, err := output(in(r.root, "git", "log", "--format=%H", "-S## ["+version+"]", "--", "CHANGELOG.md"))
		if err != nil || commits == "" {
			return errors.Join(err, fmt.Errorf("the history does not reach back to %s", version))
		}
		commit = commits[strings.LastIndex(commits, "\n")+1:]
	}
	r.printf("changes since %s, %s:\n", version, commit)
	if _, err := output(in(r.root, "git", "clone", "-q", "--shared", ".", r.temp+"/old")); err != nil {
		return err
	}
	if _, err := output(in(r.temp+"/old", "git", "checkout", "-q", commit)); err != nil {
		return err
	}
	broken, err := r.apiChanges(r.temp+"/old", r.root)
	if err != nil || !broken {
		return err
	}
	client, err := os.ReadFile(r.path("client.go"))
	if err == nil {
		err = mayBreak(version, submatch(versionLine, string(client)))
	}
	return err
}

// versionLine is the line of client.go with the version.
const versionLine = `(?m)^const Version = "(.*)"`

// mayBreak returns an error unless a version is of another minor version than the last release.
func mayBreak(last, now string) error {
	minor := func(version string) string { return version[:max(strings.LastIndex(version, "."), 0)] }
	if minor(last) == minor(now) {
		return fmt.Errorf("%s may not break what %s had", now, last)
	}
	return nil
}

// apiChanges prints how the exported API differs between two trees of this module, and reports
// whether it breaks users.
func (r repository) apiChanges(before, after string) (broken bool, err error) {
	old, err := api(before)
	if err != nil {
		return false, err
	}
	now, err := api(after)
	if err != nil {
		return false, err
	}
	for path, was := range old {
		is := now[path]
		if is == nil {
			is = types.NewPackage(path, was.Name()) // everything in it is removed
		}
		for _, change := range apidiff.Changes(was, is).Changes {
			broken = broken || !change.Compatible
			r.printf("%s: %s, compatible: %t\n", path, change.Message, change.Compatible)
		}
	}
	return broken, nil
}

// api returns the packages of a tree that users import. internal/quota is one: petstoreredis imports
// it, and users may update one of the two modules alone.
func api(dir string) (map[string]*types.Package, error) {
	mode := packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedModule
	loaded, err := packages.Load(&packages.Config{Mode: mode, Dir: dir}, "./...")
	found := map[string]*types.Package{}
	for _, pkg := range loaded {
		for _, problem := range pkg.Errors {
			err = errors.Join(err, problem)
		}
		if pkg.Name != "main" && (!isInternal(pkg.PkgPath) || strings.HasSuffix(pkg.PkgPath, "/internal/quota")) {
			found[pkg.PkgPath] = pkg.Types
		}
	}
	if err == nil && len(found) == 0 {
		err = errors.New("there are no packages in " + dir)
	}
	return found, err
}

// submatch returns what the group of a pattern matches in a text first, or "".
func submatch(pattern, text string) string {
	return append(regexp.MustCompile(pattern).FindStringSubmatch(text), "", "")[1]
}

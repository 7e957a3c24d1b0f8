package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// modules returns the folders of all modules below root, that of the root first, with slashes.
func modules(root string) ([]string, error) {
	var found []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "testdata", "node_modules"}, entry.Name()):
			return fs.SkipDir
		case entry.Name() == "go.mod":
			found = append(found, filepath.ToSlash(filepath.Dir(path)))
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

// shipped reports whether users get or copy a module.
func shipped(module string) bool {
	return !regexp.MustCompile(`^(tools|bench|openapi)|/uitest$`).MatchString(module)
}

// shippedModules returns the modules that users get or copy.
func (r repository) shippedModules() ([]string, error) {
	all, err := modules(r.root)
	return slices.DeleteFunc(all, func(module string) bool { return !shipped(module) }), err
}

// checkFiles fails for files that are neither text nor at most 512 KiB: what a build left behind.
func checkFiles(r repository) error {
	list, err := output(in(r.root, "git", "ls-files", "--eol"))
	if err != nil {
		return err
	}
	large := largeFiles(list, func(path string) int64 {
		info, err := os.Stat(r.path(path))
		if err != nil {
			return 0 // deleted, and not yet committed
		}
		return info.Size()
	})
	if len(large) > 0 {
		return fmt.Errorf("neither text nor small: %s", large)
	}
	return nil
}

// largeFiles returns the files of git ls-files --eol that are not text and larger than 512 KiB.
func largeFiles(list string, size func(path string) int64) (large []string) {
	for line := range strings.Lines(list) {
		attributes, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(attributes, "i/-text") && size(path) > 512<<10 {
			large = append(large, path)
		}
	}
	return large
}

// checkDependabot fails unless Dependabot updates every module and every package.json, and is given
// no other folders.
func checkDependabot(r repository) error {
	folders, err := modules(r.root)
	if err != nil {
		return err
	}
	npm, err := output(in(r.root, "git", "ls-files", "*package.json"))
	if err != nil {
		return err
	}
	for path := range strings.FieldsSeq(npm) {
		folders = append(folders, filepath.ToSlash(filepath.Dir(path)))
	}
	text, err := os.ReadFile(r.path(".github", "dependabot.yml"))
	if err != nil {
		return err
	}
	return compareFolders(folders, string(text))
}

// compareFolders compares folders with those of a dependabot.yml.
func compareFolders(folders []string, config string) error {
	missing := map[string]bool{}
	for _, folder := range folders {
		missing["/"+strings.TrimPrefix(folder, ".")] = true
	}
	for _, match := range regexp.MustCompile(`(?m)^ *- "(/.*)"$`).FindAllStringSubmatch(config, -1) {
		if _, ok := missing[match[1]]; !ok {
			return fmt.Errorf("dependabot.yml has %s, which has no dependencies", match[1])
		}
		missing[match[1]] = false
	}
	for folder, is := range missing {
		if is {
			return fmt.Errorf("dependabot.yml lacks %s", folder)
		}
	}
	return nil
}

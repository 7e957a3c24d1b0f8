package main

import (
	"fmt"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// unused are exported names that nothing uses in the sense of checkNames, with the reason why they
// stay.
var unused = map[string]string{
	"petstoreotel.AttributeOperation": "for views of the metrics by operation",
	"petstoreotel.ScopeName":          "for views of this instrumentation",
}

// conventional are the methods that the standard library calls.
var conventional = []string{"Error", "Is", "Unwrap", "String", "LogValue", "Format"}

// checkNames fails for an exported name that no example, document or other package uses: it would be
// promised to users for nothing. The types that a used name mentions are used, too, with their
// constants.
func checkNames(r repository) error {
	texts, err := r.texts("*.go", "*.md")
	if err != nil {
		return err
	}
	var names []string
	for _, module := range released {
		found, err := api(r.path(module))
		if err != nil {
			return err
		}
		for _, pkg := range found {
			if !strings.Contains(pkg.Path(), "/internal/") {
				names = append(names, newUses(pkg, texts).unused()...)
			}
		}
	}
	for name, reason := range unused {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%s is used now: take it from the list (%s)", name, reason)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return unused[name] != "" })
	if len(names) > 0 {
		slices.Sort(names)
		return fmt.Errorf("no example, document or other package uses %s", strings.Join(names, ", "))
	}
	return nil
}

// texts returns the files of the repository that match patterns of git, by their paths.
func (r repository) texts(patterns ...string) (map[string]string, error) {
	listed, err := output(in(r.root, append([]string{"git", "ls-files"}, patterns...)...))
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for name := range strings.FieldsSeq(listed) {
		text, err := os.ReadFile(r.path(filepath.FromSlash(name)))
		if err != nil && !os.IsNotExist(err) { // deleted, and not yet committed
			return nil, err
		}
		texts[name] = string(text)
	}
	return texts, nil
}

// uses are the uses of a package's exported names.
type uses struct {
	pkg         *types.Package
	code, prose string
	seen        map[types.Object]bool // used by a text, or mentioned by a name that is used
}

func newUses(pkg *types.Package, texts map[string]string) *uses {
	u := &uses{pkg: pkg, seen: map[types.Object]bool{}}
	folder := strings.Trim(strings.TrimPrefix(pkg.Path(), modulePath), "/")
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		own := strings.Trim(path.Dir(file), ".") == folder
		example := strings.HasPrefix(file, "examples/") || strings.HasPrefix(path.Base(file), "example")
		switch {
		case strings.HasPrefix(file, "tools/"): // which has the names above
		case strings.HasSuffix(file, ".md") && file != "CHANGELOG.md", own && path.Base(file) == "doc.go":
			u.prose += texts[file] + "\n"
		case example, !own && !strings.HasSuffix(file, "_test.go"):
			u.code += texts[file] + "\n"
		}
	}
	for _, name := range pkg.Scope().Names() {
		if o := pkg.Scope().Lookup(name); o.Exported() && u.has(`\b`+pkg.Name()+`\.`, name) {
			u.mark(o)
		}
	}
	return u
}

// has reports whether the documents have a name, or the code has it after what a pattern matches.
func (u *uses) has(before, name string) bool {
	return regexp.MustCompile(`\b`+name+`\b`).MatchString(u.prose) ||
		regexp.MustCompile(before+name+`\b`).MatchString(u.code)
}

// mark records that a name is used, with the types of the package that its declaration mentions.
func (u *uses) mark(o types.Object) {
	if o.Pkg() != u.pkg || u.seen[o] {
		return
	}
	u.seen[o] = true
	declaration := []string{types.TypeString(o.Type(), nil)}
	if _, ok := o.(*types.TypeName); ok {
		declaration = append(declaration, types.TypeString(o.Type().Underlying(), nil))
		for method := range types.NewMethodSet(types.NewPointer(o.Type())).Methods() {
			declaration = append(declaration, types.TypeString(method.Type(), nil))
		}
	}
	name := regexp.MustCompile(regexp.QuoteMeta(u.pkg.Path()) + `\.(\w+)`)
	for _, match := range name.FindAllStringSubmatch(strings.Join(declaration, " "), -1) {
		if mentioned := u.pkg.Scope().Lookup(match[1]); mentioned != nil {
			u.mark(mentioned)
		}
	}
}

// unused returns the exported names and methods that are not used.
func (u *uses) unused() (names []string) {
	for _, name := range u.pkg.Scope().Names() {
		o := u.pkg.Scope().Lookup(name)
		_, isType := o.(*types.TypeName)
		named, isNamed := types.Unalias(o.Type()).(*types.Named)
		switch {
		case !o.Exported():
			continue
		case !isType && isNamed && u.seen[named.Obj()]: // a constant of a type that is used
		case !u.seen[o]:
			names = append(names, u.pkg.Name()+"."+name)
		}
		if !isType || !isNamed {
			continue
		}
		for method := range named.Methods() {
			if method.Exported() && !slices.Contains(conventional, method.Name()) && !u.has(`\.`, method.Name()) {
				names = append(names, u.pkg.Name()+"."+name+"."+method.Name())
			}
		}
	}
	return names
}

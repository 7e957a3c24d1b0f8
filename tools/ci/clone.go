package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// taggedClone clones the last commit into a folder below temp, with the tags that its release gets,
// and returns its version.
func (r repository) taggedClone(name string) (version string, err error) {
	dir := r.temp + "/" + name
	if _, err = output(in(r.root, "git", "clone", "-q", ".", dir)); err != nil {
		return "", err
	}
	client, err := os.ReadFile(dir + "/client.go") //nolint:gosec // a file of the clone
	version = submatch(versionLine, string(client))
	for _, module := range released {
		name := strings.TrimPrefix(module+"/v"+version, "./")
		_, tagged := output(in(dir, "git", "-c", "tag.gpgSign=false", "tag", "-f", name))
		err = errors.Join(err, tagged)
	}
	return version, err
}

// getModules does what users do with a release: a program elsewhere gets each of the modules, and go
// install gets petstore-fake. The tags are those of a clone. A module cache of its own keeps them out
// of the machine's cache, which serves the modules of others.
func getModules(r repository) error {
	version, err := r.taggedClone("petstore-go")
	if err != nil {
		return err
	}
	env, err := r.cloneEnv()
	if err != nil {
		return err
	}
	for _, module := range released {
		if err := r.getModule(env, strings.TrimSuffix(modulePath+"/"+module, "/."), version); err != nil {
			return err
		}
	}
	install := in(r.temp, "go", "install", modulePath+"/cmd/petstore-fake@v"+version)
	install.env = slices.Concat(env, []string{"GOBIN=" + r.temp})
	if err := r.show(install); err != nil {
		return err
	}
	return expect(in(r.temp, "./petstore-fake", "-version"), "petstore-fake "+version)
}

// cloneEnv makes the go command get the modules of this repository from the clone, and the others
// from the machine's cache if it has them.
func (r repository) cloneEnv() ([]string, error) {
	found, err := output(in(r.root, "go", "env", "GOMODCACHE", "GOPROXY"))
	cached, proxy, _ := strings.Cut(found, "\n")
	return []string{
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://" + r.temp + "/petstore-go.insteadOf",
		"GIT_CONFIG_VALUE_0=https://" + modulePath, "GONOPROXY=github.com/petstore", "GONOSUMDB=github.com/petstore",
		"GOFLAGS=-modcacherw", "GOMODCACHE=" + r.temp + "/modcache",
		"GOPROXY=file://" + cached + "/cache/download," + proxy,
	}, err
}

// getModule builds and tests the program of testdata/consumer with a module at a version.
func (r repository) getModule(env []string, path, version string) error {
	dir, err := os.MkdirTemp(r.temp, "user")
	if err != nil {
		return err
	}
	imports := fmt.Sprintf("package main\n\nimport _ %q\n", path)
	if err := errors.Join(os.CopyFS(dir, os.DirFS(r.path("testdata", "consumer"))),
		os.WriteFile(dir+"/imports.go", []byte(imports), 0o600)); err != nil {
		return err
	}
	for _, args := range []string{
		"go get " + path + "@v" + version, "go mod tidy", "go test ./...", "go build -o user .",
	} {
		if err := r.show(command{dir, env, strings.Fields(args)}); err != nil {
			return err
		}
	}
	return expect(in(dir, "go", "version", "-m", "user"), "\t"+path+"\tv"+version)
}

// expect returns an error unless a command prints each of the texts.
func expect(c command, texts ...string) error {
	got, err := output(c)
	for _, text := range texts {
		if err == nil && !strings.Contains(got, text) {
			err = fmt.Errorf("%s does not print %q:\n%s", strings.Join(c.args, " "), text, got)
		}
	}
	return err
}

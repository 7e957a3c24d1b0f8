package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// checkRelease builds all that a release ships, from a tag of a clone and without a network: twice
// with the same bytes. The binaries are of this version, and the image's program runs. With
// RELEASE_FRESH=1 the second build has an empty build cache.
func checkRelease(r repository) error {
	version, err := r.taggedClone("one")
	if err != nil {
		return err
	}
	if _, err := r.taggedClone("two"); err != nil {
		return err
	}
	for _, module := range released { // so that what follows needs no network
		if err := r.show(in(r.path(module), "go", "mod", "download")); err != nil {
			return err
		}
	}
	again := r.release("two", "again")
	if os.Getenv("RELEASE_FRESH") != "" {
		again.env = append(again.env, "GOCACHE="+r.temp+"/cache")
	}
	for _, c := range []command{
		r.release("one", "out"), again, in(r.temp, "diff", "-r", "out", "again"),
		in(r.temp+"/out", "sha256sum", "--quiet", "-c", "SHA256SUMS"),
		in(r.temp+"/out", "grep", "-q", `"purl": "pkg:golang/github.com/hashicorp/go-retryablehttp@`,
			"petstore-go_"+version+".cdx.json", "petstoreredis_"+version+".cdx.json",
			"petstoreotel_"+version+".cdx.json", "petstore-fake_"+version+".cdx.json"),
	} {
		if err := r.show(c); err != nil {
			return err
		}
	}
	return cmp.Or(r.checkBinaries(version), r.checkImage(version), r.checkRefusal(version))
}

// release returns the command that builds a release from a clone, without a network where that is
// possible.
func (r repository) release(clone, to string) command {
	args := []string{"bash", r.temp + "/" + clone + "/.ci/release", r.temp + "/" + to}
	if _, err := output(in(r.temp, "unshare", "-rn", "true")); err == nil {
		args = append([]string{"unshare", "-rn"}, args...)
	}
	return command{r.temp, []string{"TOOLS=" + r.path("bin", "tools")}, args}
}

// checkBinaries checks that there is a binary for each system, static, of this version and from a
// clean tree.
func (r repository) checkBinaries(version string) error {
	const systems = "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"
	for system := range strings.FieldsSeq(systems) {
		goos, goarch, _ := strings.Cut(system, "/")
		file := "petstore-fake_" + version + "_" + goos + "_" + goarch
		if goos == "windows" {
			file += ".exe"
		}
		if err := expect(in(r.temp+"/out", "go", "version", "-m", file), "\tGOOS="+goos+"\n", "\tGOARCH="+goarch+"\n",
			"\tCGO_ENABLED=0\n", "\tvcs.modified=false", "\tmod\t"+modulePath+"\tv"+version+"\t\n"); err != nil {
			return err
		}
	}
	return nil
}

// checkImage checks that the image has the program of each platform, and runs that of this machine as
// the image says: with only the image's files where chroot is allowed, and on a loopback port.
func (r repository) checkImage(version string) error {
	archive, image := r.temp+"/out/petstore-fake_"+version+"_image.tar", "ocidir://layout:"+version
	if err := r.show(in(r.temp, r.tool("regctl"), "image", "import", image, archive)); err != nil {
		return err
	}
	const config = "{{.Config.User}} {{.Config.Entrypoint}} {{.Config.Healthcheck.Test}}"
	for _, arch := range []string{"amd64", "arm64"} {
		binary := "out/petstore-fake_" + version + "_linux_" + arch
		inspect := in(r.temp, r.tool("regctl"), "image", "inspect", "-p", "linux/"+arch, "--format", config, image)
		file := in(r.temp, r.tool("regctl"), "image", "get-file", "-p", "linux/"+arch, image, "petstore-fake", arch)
		if err := cmp.Or(expect(inspect, "65532:65532 [/petstore-fake] [CMD /petstore-fake -healthcheck]"),
			r.show(file), r.show(in(r.temp, "cmp", arch, binary))); err != nil {
			return err
		}
	}
	// skopeo publishes the image, without changing it.
	publish := in(r.temp, "skopeo", "copy", "--quiet", "--all", "--preserve-digests", "oci-archive:"+archive,
		"dir:copy")
	if err := r.show(publish); err != nil && !errors.Is(err, exec.ErrNotFound) {
		return err
	}
	const unpack = `mkdir -m 755 rootfs && chmod 755 . && "$0" blob get "$1" $("$0" manifest get -p "linux/$2" \
		--format '{{(index .Layers 0).Digest}}' "$1") | tar -xzp -C rootfs`
	if err := r.show(in(r.temp, "sh", "-c", unpack, r.tool("regctl"), image, runtime.GOARCH)); err != nil {
		return err
	}
	run := []string{r.temp + "/rootfs/petstore-fake"}
	if os.Geteuid() == 0 {
		run = []string{"chroot", "--userspec=65532:65532", r.temp + "/rootfs", "/petstore-fake"}
	}
	return cmp.Or(expect(in(r.temp, append(run, "-version")...), "petstore-fake "+version), serves(in(r.temp, run...)))
}

// serves checks that the program serves on a free port, says that it is healthy, and ends when told.
func serves(program command) error {
	program.env = []string{"PETSTORE_FAKE_ADDR=127.0.0.1:0"}
	cmd := program.cmd()
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	port, err := bufio.NewReader(stdout).ReadString('\n')
	address := "127.0.0.1:" + strings.TrimSpace(port)
	if err == nil {
		_, err = output(command{"", []string{"PETSTORE_FAKE_ADDR=" + address}, append(program.args, "-healthcheck")})
	}
	if err == nil {
		const key = "Authorization: Bearer fake-api-key"
		err = expect(in("", "curl", "-fsS", "-H", key, "http://"+address+"/v1/pets"), "[]")
	}
	return errors.Join(err, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())
}

// checkRefusal checks that a release is refused without the tag of a module: nobody could get that.
func (r repository) checkRefusal(version string) error {
	if _, err := output(in(r.temp+"/two", "git", "tag", "-d", "petstoreotel/v"+version)); err != nil {
		return err
	}
	_, err := output(r.release("two", "refused"))
	if err == nil || !strings.Contains(err.Error(), "has no tag petstoreotel/") {
		return fmt.Errorf("it is not refused because of its tag: %w", err)
	}
	return nil
}

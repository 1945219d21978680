package clusters

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// recipe is part of the key of the cache: another way to build is another
// build.
const recipe = "1"

// programs are what a build must have made.
var programs = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"}

// Tools are the programs of a control plane, built.
type Tools struct {
	Dir        string // has the programs, by their usual names, and kwok's stages
	Kubernetes string // version, such as "v1.37.1"
	Kwok       string
}

func (t *Tools) file(name string) string { return filepath.Join(t.Dir, name) }

// emulate returns the minor version to emulate, "" for the one that was built.
// A server can behave as one of the three versions before it.
func (t *Tools) emulate(version string) (string, error) {
	var built, minor int
	if _, err := fmt.Sscanf(t.Kubernetes, "v1.%d.", &built); err != nil {
		return "", fmt.Errorf("version %s of Kubernetes: %w", t.Kubernetes, err)
	}
	if version == "" || version == "1."+strconv.Itoa(built) {
		return "", nil
	}
	minor, err := strconv.Atoi(strings.TrimPrefix(version, "1."))
	if err != nil || minor < built-3 || minor > built || !strings.HasPrefix(version, "1.") {
		return "", fmt.Errorf("a control plane of 1.%d behaves as 1.%d to 1.%d, not as %q", built, built-3, built, version)
	}
	return version, nil
}

// Build returns the programs. They lie in the user's cache, under a key of
// all that decides what they are; the first process that misses them builds
// them, and others wait for it. That takes minutes, so it is told to log.
func Build(ctx context.Context, log io.Writer) (*Tools, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	module, err := findModule()
	if err != nil {
		return nil, err
	}
	b := &build{module: module, log: log}
	if err := b.read(); err != nil {
		return nil, err
	}
	if b.done() {
		return &b.tools, nil
	}
	if err := os.MkdirAll(filepath.Dir(b.tools.Dir), 0o755); err != nil {
		return nil, err
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return nil, err
	}
	if !b.done() { // nobody else did it while we waited
		err = b.run(ctx)
	}
	if err := errors.Join(err, unlock()); err != nil {
		return nil, fmt.Errorf("build the control planes: %w", err)
	}
	return &b.tools, nil
}

// findModule returns the directory of the module that has the programs. It is
// part of the checkout that the working directory is in.
func findModule() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		module := filepath.Join(dir, "testdata", "controlplane")
		if exists(filepath.Join(module, "go.mod")) {
			return module, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no testdata/controlplane/go.mod above %s: run in a checkout of fleetc", wd)
		}
	}
}

type build struct {
	module string
	log    io.Writer
	tools  Tools // complete but for what is in Dir
}

// read finds out what is to be built, and where.
func (b *build) read() error {
	sum := sha256.New()
	fmt.Fprintln(sum, recipe, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	var mod []byte
	for _, name := range []string{"go.sum", "go.mod"} {
		text, err := os.ReadFile(filepath.Join(b.module, name))
		if err != nil {
			return err
		}
		fmt.Fprintln(sum, len(text))
		sum.Write(text)
		mod = text
	}
	for path, version := range map[string]*string{"k8s.io/kubernetes": &b.tools.Kubernetes, "sigs.k8s.io/kwok": &b.tools.Kwok} {
		m := regexp.MustCompile(`(?m)^\s+` + regexp.QuoteMeta(path) + ` (v\S+)`).FindSubmatch(mod)
		if m == nil {
			return fmt.Errorf("%s/go.mod does not require %s", b.module, path)
		}
		*version = string(m[1])
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	b.tools.Dir = filepath.Join(cache, "fleetc-controlplane", fmt.Sprintf("%x", sum.Sum(nil)[:12]))
	return nil
}

// done reports whether the build is there. It comes there in one piece; that
// each program is there is asked for those who tidy up caches.
func (b *build) done() bool {
	for _, name := range programs {
		if !exists(b.tools.file(name)) {
			return false
		}
	}
	return exists(b.tools.file("stages"))
}

// lock waits until no other process builds the same.
func (b *build) lock(ctx context.Context) (unlock func() error, err error) {
	for told := false; ; {
		unlock, ok, err := tryLock(b.tools.Dir + ".lock")
		if err != nil || ok {
			return unlock, err
		}
		if !told {
			told = true
			fmt.Fprintln(b.log, "waiting for another process that builds the control planes")
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another process that builds the control planes: %w", ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// run builds into a directory of its own, which then gets its name.
func (b *build) run(ctx context.Context) error {
	fmt.Fprintf(b.log, "building Kubernetes %s into %s: once, for about ten minutes\n", b.tools.Kubernetes, b.tools.Dir)
	// The lock is ours, so what is there was left by one who was killed.
	tmp := b.tools.Dir + ".new"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if _, err := b.goCommand(ctx, "build", "-trimpath", "-buildvcs=false", "-ldflags", b.ldflags(), "-o", tmp+string(filepath.Separator), "tool"); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: what is built is kept: run make e2e, which has no deadline for it", ctx.Err())
		}
		return err
	}
	if err := os.Rename(filepath.Join(tmp, "server"), filepath.Join(tmp, "etcd")); err != nil {
		return err
	}
	dir, err := b.goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	if err != nil {
		return err
	}
	if err := copyStages(filepath.Join(strings.TrimSpace(dir), "kustomize", "stage"), filepath.Join(tmp, "stages")); err != nil {
		return err
	}
	if err := os.RemoveAll(b.tools.Dir); err != nil { // incomplete, or done would be true
		return err
	}
	return os.Rename(tmp, b.tools.Dir)
}

// ldflags make the programs say which version they are, as a release does:
// clients decide by it.
func (b *build) ldflags() string {
	minor, _, _ := strings.Cut(strings.TrimPrefix(b.tools.Kubernetes, "v1."), ".")
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, v := range []string{
			"gitVersion=" + b.tools.Kubernetes, "gitMajor=1", "gitMinor=" + minor,
			"gitTreeState=clean", "gitCommit=goproxy", "buildDate=2026-01-01T00:00:00Z",
		} {
			flags = append(flags, "-X", pkg+"."+v)
		}
	}
	return strings.Join(append(flags, "-X", "sigs.k8s.io/kwok/pkg/consts.Version="+b.tools.Kwok), " ")
}

// goCommand runs the go command in the module, and ends with ctx or with this
// process. It needs no C compiler.
func (b *build) goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = 10 * time.Second
	var out, complaints strings.Builder
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&complaints, b.log)
	// The child ends with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return "", err
	}
	if err := yield(cmd.Process); err != nil {
		return "", errors.Join(err, cmd.Cancel(), cmd.Wait())
	}
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("go %s in %s: %w\n%s", args[0], b.module, err, complaints.String())
	}
	return out.String(), nil
}

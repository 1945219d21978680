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
	"strings"
	"time"
)

// way is part of the key of the cache: another way to build is another build.
const way = "1"

// Recipe says how the tools of a module below testdata are built.
type Recipe struct {
	Name     string   // of the module's directory
	Parts    []string // files and directories that a build must have made
	Versions []string // modules that it requires, and whose versions are to be known

	// Flags are further ones for the linker, by the versions; nil for none.
	Flags func(versions map[string]string) []string
	// Finish brings the directory with the tools, under the names that Go
	// gives them, into order. It can ask for the directories of modules.
	Finish func(dir string, module func(path string) (string, error)) error
}

// Built is what a recipe made.
type Built struct {
	Dir      string // has the parts
	Versions map[string]string
}

// Build returns what the recipe makes. It lies in the user's cache, under a
// key of all that decides what it is; the first process that misses it builds
// it, and others wait for it. That takes minutes, so it is told to log.
func (r Recipe) Build(ctx context.Context, log io.Writer) (*Built, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	module, err := findModule(r.Name)
	if err != nil {
		return nil, err
	}
	b := &build{Recipe: r, module: module, log: log}
	if err := b.read(); err != nil {
		return nil, err
	}
	if b.done() {
		return &b.built, nil
	}
	if err := os.MkdirAll(filepath.Dir(b.built.Dir), 0o755); err != nil {
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
		return nil, fmt.Errorf("build the tools of testdata/%s: %w", r.Name, err)
	}
	return &b.built, nil
}

// findModule returns the directory of the module that has the programs. It is
// part of the checkout that the working directory is in.
func findModule(name string) (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		module := filepath.Join(dir, "testdata", name)
		if exists(filepath.Join(module, "go.mod")) {
			return module, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no testdata/%s/go.mod above %s: run in a checkout of fleetc", name, wd)
		}
	}
}

type build struct {
	Recipe
	module string // directory
	log    io.Writer
	built  Built // complete but for what is in Dir
}

// read finds out what is to be built, and where.
func (b *build) read() error {
	sum := sha256.New()
	fmt.Fprintln(sum, way, runtime.Version(), runtime.GOOS, runtime.GOARCH)
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
	b.built.Versions = map[string]string{}
	for _, path := range b.Versions {
		m := regexp.MustCompile(`(?m)^\s+` + regexp.QuoteMeta(path) + ` (v\S+)`).FindSubmatch(mod)
		if m == nil {
			return fmt.Errorf("%s/go.mod does not require %s", b.module, path)
		}
		b.built.Versions[path] = string(m[1])
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	b.built.Dir = filepath.Join(cache, "fleetc-"+b.Name, fmt.Sprintf("%x", sum.Sum(nil)[:12]))
	return nil
}

// done reports whether the build is there. It comes there in one piece; that
// each part is there is asked for those who tidy up caches.
func (b *build) done() bool {
	for _, name := range b.Parts {
		if !exists(filepath.Join(b.built.Dir, name)) {
			return false
		}
	}
	return true
}

// lock waits until no other process builds the same.
func (b *build) lock(ctx context.Context) (unlock func() error, err error) {
	for told := false; ; {
		unlock, ok, err := tryLock(b.built.Dir + ".lock")
		if err != nil || ok {
			return unlock, err
		}
		if !told {
			told = true
			fmt.Fprintf(b.log, "waiting for another process that builds the tools of testdata/%s\n", b.Name)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another process that builds the same: %w", ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// run builds into a directory of its own, which then gets its name.
func (b *build) run(ctx context.Context) error {
	fmt.Fprintf(b.log, "building the tools of testdata/%s into %s: once, for about ten minutes\n", b.Name, b.built.Dir)
	// The lock is ours, so what is there was left by one who was killed.
	tmp := b.built.Dir + ".new"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	flags := []string{"-s", "-w"}
	if b.Flags != nil {
		flags = append(flags, b.Flags(b.built.Versions)...)
	}
	if _, err := b.goCommand(ctx, "build", "-trimpath", "-buildvcs=false", "-ldflags", strings.Join(flags, " "), "-o", tmp+string(filepath.Separator), "tool"); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: what is built is kept: run make, which has no deadline for it", ctx.Err())
		}
		return err
	}
	module := func(path string) (string, error) {
		dir, err := b.goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", path)
		return strings.TrimSpace(dir), err
	}
	if err := b.Finish(tmp, module); err != nil {
		return err
	}
	if err := os.RemoveAll(b.built.Dir); err != nil { // incomplete, or done would be true
		return err
	}
	return os.Rename(tmp, b.built.Dir)
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

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

// buildFormat is part of the cache key. Change it when builds change.
const buildFormat = "1"

// Recipe describes how to build the programs of a module below testdata.
type Recipe struct {
	Name     string   // name of the module's directory
	Parts    []string // files and directories that a complete build has
	Versions []string // required modules whose versions are part of the build

	// Flags returns more linker flags, given the versions; may be nil.
	Flags func(versions map[string]string) []string
	// Finish arranges the directory of the built programs. It can look up the
	// directories of modules. May be nil.
	Finish func(dir string, module func(path string) (string, error)) error
}

// BuildResult is the result of a recipe.
type BuildResult struct {
	Dir      string // directory with the parts
	Versions map[string]string
}

// Build returns the result of the recipe from the user's cache, or builds it, which
// takes minutes and is logged. The cache key covers all inputs. Other processes
// that need the same build wait for it.
func (r Recipe) Build(ctx context.Context, log io.Writer) (*BuildResult, error) {
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
	if b.exists() {
		return &b.result, nil
	}
	if err := os.MkdirAll(filepath.Dir(b.result.Dir), 0o755); err != nil {
		return nil, err
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return nil, err
	}
	if !b.exists() { // not built by another process in the meantime
		err = b.run(ctx)
	}
	if err := errors.Join(err, unlock()); err != nil {
		return nil, fmt.Errorf("build the tools of testdata/%s: %w", r.Name, err)
	}
	return &b.result, nil
}

// findModule returns the directory of a module in the checkout that contains the
// working directory.
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
	result BuildResult // complete except for the files in Dir
}

// read computes the inputs of the build and its directory.
func (b *build) read() error {
	sum := sha256.New()
	fmt.Fprintln(sum, buildFormat, runtime.Version(), runtime.GOOS, runtime.GOARCH)
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
	b.result.Versions = map[string]string{}
	for _, path := range b.Versions {
		m := regexp.MustCompile(`(?m)^\s+` + regexp.QuoteMeta(path) + ` (v\S+)`).FindSubmatch(mod)
		if m == nil {
			return fmt.Errorf("%s/go.mod does not require %s", b.module, path)
		}
		b.result.Versions[path] = string(m[1])
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	b.result.Dir = filepath.Join(cache, "fleetc-"+b.Name, fmt.Sprintf("%x", sum.Sum(nil)[:12]))
	return nil
}

// exists reports whether the build exists. It appears atomically; the check of each
// part is for tools that clean caches.
func (b *build) exists() bool {
	for _, name := range b.Parts {
		if !exists(filepath.Join(b.result.Dir, name)) {
			return false
		}
	}
	return true
}

// lock waits until no other process runs the same build.
func (b *build) lock(ctx context.Context) (unlock func() error, err error) {
	for told := false; ; {
		unlock, ok, err := tryLock(b.result.Dir + ".lock")
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

// run builds into a temporary directory, and renames it when it is complete.
func (b *build) run(ctx context.Context) error {
	fmt.Fprintf(b.log, "building the tools of testdata/%s into %s: once, for about ten minutes\n", b.Name, b.result.Dir)
	// Leftovers are those of a killed process, since this process has the lock.
	tmp := b.result.Dir + ".new"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	flags := []string{"-s", "-w"}
	if b.Flags != nil {
		flags = append(flags, b.Flags(b.result.Versions)...)
	}
	if _, err := b.goCommand(ctx, "build", "-trimpath", "-buildvcs=false", "-ldflags", strings.Join(flags, " "), "-o", tmp+string(filepath.Separator), "tool"); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: what is built is kept: run make, which has no deadline for it", ctx.Err())
		}
		return err
	}
	if b.Finish != nil {
		module := func(path string) (string, error) {
			dir, err := b.goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", path)
			return strings.TrimSpace(dir), err
		}
		if err := b.Finish(tmp, module); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(b.result.Dir); err != nil { // incomplete, since exists is false
		return err
	}
	return os.Rename(tmp, b.result.Dir)
}

// goCommand runs the go command in the module without a C compiler. The command
// ends with ctx or with this process.
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
	if err := lowerPriority(cmd.Process); err != nil {
		return "", errors.Join(err, cmd.Cancel(), cmd.Wait())
	}
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("go %s in %s: %w\n%s", args[0], b.module, err, complaints.String())
	}
	return out.String(), nil
}

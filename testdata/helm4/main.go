// Command helm4 copies this repository, with Helm 4 as the library in place of Helm 3,
// and tests the copy:
//
//	go run ./testdata/helm4 [-copy DIR]
//
// It compares the tests that fail with differences.txt, and fails for a test that is
// not listed, and for one that is listed and passes. With -copy, it only writes the
// copy to DIR, outside of the repository, where other commands can build and test it.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const version = "v4.3.1" // of Helm 4

// packages are those that use Helm, and those whose tests compare exported bytes.
var packages = []string{"./compiler", "./compiler/stage/...", "./compiler/deliver/cluster", "./compiler/edit/importer", "./cmd/fleetc"}

// sdk is the file with the calls that Helm 4 changed.
//
//go:embed sdk.go.txt
var sdk []byte

//go:embed differences.txt
var differences string

func main() {
	log.SetFlags(0)
	dir := flag.String("copy", "", "only write the copy, to this directory")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatal("usage: helm4 [-copy DIR]")
	}
	var err error
	if *dir != "" {
		err = copyTree(*dir)
	} else {
		err = run()
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run tests a temporary copy.
func run() error {
	dir, err := os.MkdirTemp("", "fleetc-helm4-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyTree(dir); err != nil {
		return err
	}
	failed, err := test(dir)
	if err != nil {
		return err
	}
	return compare(failed)
}

// copyTree replaces dir by a copy of the repository with Helm 4.
func copyTree(dir string) error {
	list, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("list the files of the repository: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		if err := copyFile(dir, name); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "compiler/deliver/cluster/helmsdk.go"), sdk, 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"mod", "edit", "-droprequire=" + v3, "-require=" + v4 + "@" + version},
		{"mod", "tidy"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
		}
	}
	return nil
}

// copyFile copies a file or link, and rewrites it if it is a Go file of this module.
func copyFile(dir, name string) error {
	to := filepath.Join(dir, name)
	info, err := os.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil // deleted, and not committed yet
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		link, err := os.Readlink(name)
		if err != nil {
			return err
		}
		return os.Symlink(link, to)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if strings.HasSuffix(name, ".go") && bytes.Contains(text, []byte(v3)) && !strings.HasPrefix(name, "testdata/helm4/") {
		if text, err = rewrite(name, text); err != nil {
			return err
		}
		if name == "cmd/fleetc/version.go" {
			text = bytes.ReplaceAll(text, []byte(v3), []byte(v4))
		}
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// test runs the tests of the copy, and returns those that fail as "PACKAGE TEST".
// A test is not listed for its subtests that fail.
func test(dir string) ([]string, error) {
	cmd := exec.Command("go", append([]string{"test", "-json", "-vet=off", "-timeout=40m"}, packages...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run the tests: %w", err)
	}
	failed, err := read(out)
	if waitErr := cmd.Wait(); err == nil && waitErr != nil && len(failed) == 0 {
		err = fmt.Errorf("run the tests: %w", waitErr)
	}
	return failed, err
}

// An event is a line that go test -json prints.
type event struct{ Action, Package, ImportPath, Test, Output string }

// read reads events, prints the output of tests that fail, and returns their names.
func read(from io.Reader) ([]string, error) {
	printed := map[[2]string]string{}
	var failed []string
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read the results of tests: %w", err)
		}
		key := [2]string{cmp.Or(e.Package, e.ImportPath), e.Test}
		switch e.Action {
		case "output", "build-output":
			printed[key] += e.Output
		case "build-fail":
			return nil, fmt.Errorf("the copy does not compile:\n%s", printed[key])
		case "fail":
			pkg := strings.TrimPrefix(e.Package, "github.com/fleetc/fleetc/")
			name := strings.TrimSpace(pkg + " " + e.Test)
			if !slices.ContainsFunc(failed, func(f string) bool {
				return strings.HasPrefix(f, name+"/") || e.Test == "" && strings.HasPrefix(f, name+" ")
			}) {
				failed = append(failed, name)
				log.Printf("%s\n%s", name, printed[key])
			}
			delete(printed, key)
		case "pass":
			delete(printed, key)
		}
	}
	return failed, lines.Err()
}

// compare compares the tests that fail with those of differences.txt.
func compare(failed []string) error {
	var errs []error
	known := map[string]bool{}
	for line := range strings.Lines(differences) {
		name, reason, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		if !ok || reason == "" {
			errs = append(errs, fmt.Errorf("differences.txt gives no reason for %s", name))
		}
		known[name] = true
		if !slices.ContainsFunc(failed, func(f string) bool { return covers(name, f) }) {
			errs = append(errs, fmt.Errorf("%s passes: remove it from differences.txt", name))
		}
	}
	for _, f := range failed {
		listed := false
		for name := range known {
			listed = listed || covers(name, f)
		}
		if !listed {
			errs = append(errs, fmt.Errorf("%s fails with Helm 4: find the cause, and list it in differences.txt", f))
		}
	}
	return errors.Join(errs...)
}

// covers reports whether a line of differences.txt is about a test: the test itself,
// or a parent.
func covers(listed, name string) bool {
	return name == listed || strings.HasPrefix(name, listed+"/")
}

// Package editors tests the editor extensions.
package editors

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/testdata/npm"
)

const source = "../../editors/vscode"

// TestVSCode checks the extension, builds its package, and runs its tests with fleetc.
func TestVSCode(t *testing.T) {
	modules, err := npm.Install(t.Context(), "fleetc-editors", source, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	server := filepath.Join(dir, "fleetc")
	run(t, ".", "go", "build", "-o", server, "../../cmd/fleetc")
	t.Setenv("FLEETC", server)
	extension := filepath.Join(dir, "vscode")
	copySources(t, extension)
	if err := os.Symlink(modules, filepath.Join(extension, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"lint", "package", "test"} {
		run(t, extension, "npm", "run", script)
	}

	vsix, err := zip.OpenReader(filepath.Join(extension, "dist", "fleetc.vsix"))
	if err != nil {
		t.Fatal(err)
	}
	defer vsix.Close()
	var files []string
	for _, f := range vsix.File {
		if name, ok := strings.CutPrefix(f.Name, "extension/"); ok {
			files = append(files, strings.ToLower(name))
		}
	}
	slices.Sort(files)
	want := []string{"dist/extension.js", "dist/licenses.txt", "license.txt", "package.json", "readme.md"}
	if !slices.Equal(files, want) {
		t.Errorf("the package has the files %q, want %q", files, want)
	}
}

// copySources copies the sources of the extension, without installed packages and builds.
func copySources(t *testing.T, to string) {
	t.Helper()
	entries, err := os.ReadDir(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		from, to := filepath.Join(source, e.Name()), filepath.Join(to, e.Name())
		switch {
		case e.Name() == "node_modules" || e.Name() == "dist":
		case e.IsDir():
			err = os.CopyFS(to, os.DirFS(from))
		default:
			var text []byte
			if text, err = os.ReadFile(from); err == nil {
				err = os.WriteFile(to, text, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a program in a directory.
func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

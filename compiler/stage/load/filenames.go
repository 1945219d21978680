package load

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// FileNames returns a function that names files of faults in the fleet around dir as a user
// sees them: relative to the working directory. Names of files in a commit begin with
// that of the commit: main:environments/fleet.cue.
func FileNames(dir string) func(file string) string {
	root, _, _ := Root(cmp.Or(dir, ".")) // known also when the module's file is at fault
	here, err := ResolvePath(".")
	return func(file string) string {
		if of, ok := strings.CutPrefix(file, git.FilePrefix); ok {
			return of
		}
		if !path.IsAbs(file) && root != "" {
			file = filepath.Join(root, filepath.FromSlash(file))
		}
		if rel, relErr := filepath.Rel(here, file); err == nil && relErr == nil && filepath.IsAbs(file) {
			return rel
		}
		return file
	}
}

// FaultFiles returns the files of faults in the fleet around dir, as reports need them. The
// repository is the git checkout that contains the fleet, or the fleet's root without
// one.
func FaultFiles(dir string) diag.Files {
	root, _, _ := Root(cmp.Or(dir, "."))
	top := root
	if top == "" { // faults can be of files that are named, in another fleet
		top, _ = ResolvePath(cmp.Or(dir, "."))
	}
	top = git.Top(top)
	absolute := func(file string) string {
		if path.IsAbs(file) || filepath.IsAbs(file) {
			return file
		}
		return filepath.Join(root, filepath.FromSlash(file))
	}
	texts := map[string][]string{} // lines of the files that were read
	return diag.Files{
		Here: FileNames(dir),
		Repository: func(file string) (string, bool) {
			name, err := filepath.Rel(top, absolute(file))
			return filepath.ToSlash(name), err == nil && filepath.IsLocal(name)
		},
		Line: func(file string, line int) (string, bool) {
			lines, ok := texts[file]
			if !ok {
				lines = readLines(absolute(file))
				texts[file] = lines
			}
			if line < 1 || line > len(lines) {
				return "", false
			}
			return lines[line-1], true
		},
	}
}

// readLines returns the lines of a file; none when they cannot be had.
func readLines(file string) []string {
	const largest = 16 << 20
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > largest {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return strings.Split(string(text), "\n")
}

// ResolvePath returns the absolute path of a file with all links resolved.
func ResolvePath(file string) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

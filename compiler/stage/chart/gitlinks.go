package chart

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/ignore"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// A gitTree is the tree of a commit: files, symbolic links, submodules and their
// parent directories. Paths cannot leave it.
type gitTree struct {
	entries map[string]*gitEntry // by path from the root of the repository, which is "."
	links   []string             // paths of the symbolic links

	submodules bool // whether the commit has submodules
}

// A gitEntry is an entry of a gitTree. It implements [fs.FileInfo].
type gitEntry struct {
	name   string
	mode   fs.FileMode
	id     string
	size   int64
	target string   // of a symbolic link; empty when it is too long
	names  []string // of a directory: its entries, in git's order
}

// Methods of [fs.FileInfo].
func (e *gitEntry) Name() string       { return e.name }
func (e *gitEntry) Size() int64        { return e.size }
func (e *gitEntry) Mode() fs.FileMode  { return e.mode }
func (e *gitEntry) ModTime() time.Time { return time.Time{} }
func (e *gitEntry) IsDir() bool        { return e.mode.IsDir() }
func (e *gitEntry) Sys() any           { return nil }

// submodule is the mode of a submodule, a directory whose content the commit lacks.
const submodule = fs.ModeDir | fs.ModeIrregular

func newGitTree() *gitTree {
	return &gitTree{entries: map[string]*gitEntry{".": {name: ".", mode: fs.ModeDir}}}
}

// add adds the entries of a directory from the output of git ls-tree.
func (t *gitTree) add(dir, listing string) error {
	for line := range strings.SplitSeq(strings.TrimSuffix(listing, "\x00"), "\x00") {
		if line == "" {
			continue
		}
		about, name, _ := strings.Cut(line, "\t")
		fields := strings.Fields(about)
		if len(fields) != 4 || name == "" {
			return fmt.Errorf("git lists %q", oneLine(line))
		}
		e := &gitEntry{name: path.Base(name), id: fields[2]}
		switch mode := fields[0]; {
		case mode == "120000":
			e.mode = fs.ModeSymlink
			t.links = append(t.links, path.Join(dir, name))
		case mode == "160000":
			e.mode, t.submodules = submodule, true
		case !strings.HasPrefix(mode, "100"):
			return fmt.Errorf("%s has the mode %s, which is not the mode of a file", oneLine(name), oneLine(mode))
		}
		if e.mode != submodule {
			var err error
			if e.size, err = strconv.ParseInt(fields[3], 10, 64); err != nil {
				return fmt.Errorf("git lists %q", oneLine(line))
			}
		}
		t.put(path.Join(dir, name), e)
	}
	return nil
}

// put adds an entry and its parent directories.
func (t *gitTree) put(name string, e *gitEntry) {
	for {
		t.entries[name] = e
		dir, base := path.Dir(name), path.Base(name)
		above, ok := t.entries[dir]
		if !ok {
			above = &gitEntry{name: path.Base(dir), mode: fs.ModeDir}
		}
		above.names = append(above.names, base)
		if ok {
			return
		}
		name, e = dir, above
	}
}

// Lstat returns the entry of the given path.
func (t *gitTree) Lstat(name string) (fs.FileInfo, error) {
	e, ok := t.entries[filepath.ToSlash(name)]
	if !ok {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
	}
	return e, nil
}

// Readlink returns the target of a symbolic link.
func (t *gitTree) Readlink(name string) (string, error) {
	e := t.entries[filepath.ToSlash(name)]
	if e.target == "" {
		return "", fmt.Errorf("has a target of more than %d bytes", maxName)
	}
	return e.target, nil
}

// resolve follows symbolic links and returns the final path and its entry.
func (t *gitTree) resolve(name string) (string, *gitEntry, error) {
	real, err := git.ResolveLink(t, name)
	if err != nil {
		return "", nil, err
	}
	return real, t.entries[real], nil
}

// chartDir resolves the path of a directory and checks that it has a Chart.yaml.
func (t *gitTree) chartDir(name string) (string, error) {
	dir, _, err := t.resolve(path.Clean(name))
	if err == nil {
		_, err = t.Lstat(path.Join(dir, "Chart.yaml"))
	}
	return dir, err
}

// A gitWalker collects the files of a chart in a git tree.
type gitWalker struct {
	budget
	tree  *gitTree
	rules *ignore.Rules
	found []blob
}

// blobs returns the files of a chart, sorted. It follows symbolic links as Helm does
// when it packages the directory. Ignored links may lead anywhere.
func (t *gitTree) blobs(dir string, rules *ignore.Rules) ([]blob, error) {
	w := gitWalker{tree: t, rules: rules, budget: budget{entries: maxEntries, bytes: maxTotal}}
	if err := w.dir(dir, "", nil); err != nil {
		return nil, err
	}
	slices.SortFunc(w.found, func(a, b blob) int { return strings.Compare(a.name, b.name) })
	return w.found, nil
}

// dir collects a directory under the given name relative to the chart. above lists
// its parent directories, to detect cycles.
func (w *gitWalker) dir(at, name string, above []string) error {
	if slices.Contains(above, at) {
		return fault(diag.CodeChartFiles, linkHint, "%s is a symbolic link to a directory that contains it", name)
	}
	above = append(slices.Clip(above), at)
	for _, base := range w.tree.entries[at].names {
		if err := w.one(path.Join(at, base), path.Join(name, base), above); err != nil {
			return err
		}
	}
	return nil
}

// linkHint is the hint for a bad symbolic link in a third-party repository.
const linkHint = "ask the owners of the repository to put the files into the chart, or use a chart that they have packaged"

// one collects the file, directory or symbolic link at a path.
func (w *gitWalker) one(at, name string, above []string) error {
	e := w.tree.entries[at]
	if e.mode&fs.ModeSymlink != 0 {
		real, to, err := w.tree.resolve(at)
		if err != nil {
			if isIgnored(w.rules, name) {
				return nil
			}
			return w.broken(e, name, err)
		}
		if w.ignores(name, to) {
			return nil
		}
		// A directory counts against the limit each time that a link leads to it.
		if err := cmp.Or(w.entry(), checkName(name)); err != nil {
			return err
		}
		at, e = real, to
	}
	switch {
	case e.mode == submodule && w.ignores(name, e):
		return nil
	case e.mode == submodule:
		return fault(diag.CodeChartFiles, "use a chart that the owners of the repository have packaged: submodules are not fetched", "%s is a submodule", oneLine(name))
	case e.IsDir():
		return w.dir(at, name, above)
	}
	if err := cmp.Or(w.entry(), checkName(name)); err != nil {
		return err
	}
	if e.size > maxFile {
		return fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	if w.bytes -= e.size; w.bytes <= 0 {
		return errTotal
	}
	w.found = append(w.found, blob{e.id, e.size, name})
	return nil
}

// ignores reports whether the rules ignore an entry or one of its parents.
func (w *gitWalker) ignores(name string, e *gitEntry) bool {
	return isIgnored(w.rules, name) || e.IsDir() && w.rules.Ignore(name, e)
}

// broken returns the error for a symbolic link that cannot be followed.
func (w *gitWalker) broken(e *gitEntry, name string, err error) error {
	why := err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "does not exist in the repository"
	case errors.Is(err, git.ErrLeaves):
		why = "is outside of the repository"
	}
	return fault(diag.CodeChartFiles, linkHint, "%s is a symbolic link to %s, which %s", oneLine(name), oneLine(e.target), why)
}

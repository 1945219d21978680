package chart

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/ignore"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// local reads a chart that is a directory or an archive below the root. reads lists
// the files read, relative to the root.
func (s *Source) local(ref fleet.ChartRef) (files []fleet.File, reads []string, err error) {
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, nil, fmt.Errorf("read the fleet's root: %w", err)
	}
	defer root.Close()
	name := path.Clean(ref.Path)
	if err := outOfGit(root, name); err != nil {
		return nil, nil, err
	}
	info, err := root.Stat(name)
	if err != nil {
		return nil, nil, notThere(root, name, err)
	}
	if info.IsDir() {
		files, err = readDir(root, name, inFleet)
		for _, f := range files {
			reads = append(reads, path.Join(name, f.Name))
		}
	} else {
		files, err = readArchive(root, name, info)
		reads = []string{name}
	}
	if d, ok := errors.AsType[*diag.Diag](err); ok {
		return nil, nil, d
	}
	if err != nil {
		return nil, nil, &diag.Diag{Code: diag.CodeChartFiles, Msg: fmt.Sprintf("%s: %s", name, err), Hint: filesHint(fleet.ChartRef{Path: name}), Cause: err}
	}
	return files, reads, nil
}

// outOfGit refuses paths into the .git directory, which may contain credentials.
func outOfGit(root *os.Root, name string) error {
	if _, err := git.ResolveLink(root, name); errors.Is(err, git.ErrGit) {
		return &diag.Diag{Code: diag.CodeChartPath, Msg: name + " " + err.Error(), Hint: "put the files into the fleet's repository", Cause: err}
	}
	return nil
}

// notThere returns the fault for a path that does not exist.
func notThere(root *os.Root, name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return outside(root, name, inFleet, err)
	}
	hint := cmp.Or(oneOf(name, chartsIn(root, path.Dir(name))), "write the path relative to the fleet's root")
	return &diag.Diag{Code: diag.CodeChartPath, Msg: name + " does not exist in the fleet", Hint: hint, Cause: err}
}

// inFleet names the root of a fleet in faults.
const inFleet = "the fleet's directory"

// outside returns the fault for a symbolic link that leaves the root, which os.Root
// does not follow. where names the root.
func outside(root *os.Root, name, where string, err error) error {
	for at := name; at != "."; at = path.Dir(at) {
		if target, lerr := root.Readlink(at); lerr == nil {
			why := "is outside of " + where
			if errors.Is(err, fs.ErrNotExist) {
				why = "does not exist"
			}
			return &diag.Diag{
				Code: diag.CodeChartPath,
				Msg:  fmt.Sprintf("%s is a symbolic link to %s, which %s", at, target, why),
				Hint: "put the files into the fleet's repository", Cause: err,
			}
		}
	}
	return fmt.Errorf("read %s: %w", name, err)
}

// nearPath returns a hint with the chart in the fleet's repository whose path is nearest to ref.
func (s *Source) nearPath(ref string) string {
	root, err := os.OpenRoot(s.Root)
	if err != nil || !filepath.IsLocal(filepath.FromSlash(ref)) {
		return "" // used for a hint only
	}
	defer root.Close()
	near := diag.Nearest(path.Clean(ref), chartsIn(root, path.Dir(ref)))
	if near == "" {
		return ""
	}
	return "did you mean ./" + near + "?"
}

// chartsIn returns the names of the charts in a directory, sorted.
func chartsIn(root *os.Root, dir string) []string {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return nil // used for a hint only
	}
	var found []string
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if _, err := root.Stat(path.Join(name, "Chart.yaml")); err == nil || path.Ext(name) == ".tgz" {
			found = append(found, name)
		}
	}
	return found
}

// readArchive reads a packaged chart in the fleet's repository.
func readArchive(root *os.Root, name string, info fs.FileInfo) ([]fleet.File, error) {
	if !info.Mode().IsRegular() {
		return nil, errors.New("neither a directory nor an archive")
	}
	if info.Size() > maxDownload {
		return nil, fmt.Errorf("larger than %d MiB", maxDownload>>20)
	}
	data, err := readFile(root, name, maxDownload)
	if err != nil {
		return nil, err
	}
	return unpack(data)
}

func readFile(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// readDir reads a chart from a directory as Helm does: it leaves out files that
// .helmignore lists and follows links inside the root, unless where is empty. Unlike Helm, it
// leaves out .git when the chart is the root of the repository.
func readDir(root *os.Root, name, where string) ([]fleet.File, error) {
	noChart := &diag.Diag{Code: diag.CodeChartFiles, Msg: "no Chart.yaml in " + name, Hint: "name the directory that contains Chart.yaml"}
	if _, err := root.Lstat(path.Join(name, "Chart.yaml")); err != nil {
		noChart.Hint = cmp.Or(oneOf(name, chartsIn(root, name)), noChart.Hint)
		return nil, noChart
	}
	w := walker{root: root, top: name, where: where, rules: ignore.Empty(), budget: budget{entries: maxEntries, bytes: maxTotal}}
	file := path.Join(name, ignore.HelmIgnore)
	if info, err := root.Stat(file); err == nil && info.Mode().IsRegular() {
		text, err := readFile(root, file, maxFile)
		if err != nil {
			return nil, err
		}
		if w.rules, err = parseIgnore(text); err != nil {
			return nil, err
		}
	}
	w.rules.AddDefaults()
	if err := w.dir("", nil); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(w.files, func(f fleet.File) bool { return f.Name == "Chart.yaml" }) {
		noChart.Hint = "remove it from " + ignore.HelmIgnore
		return nil, noChart
	}
	return w.files, w.inner(w.files, 1)
}

// A walker collects the files of a directory.
type walker struct {
	budget
	root  *os.Root
	top   string
	where string // name of the root; empty if links are left out
	rules *ignore.Rules
	files []fleet.File
}

// dir reads a directory under the given name relative to the chart. It opens the
// directory once for all entries. above lists its parent directories, to detect
// cycles.
func (w *walker) dir(name string, above []fs.FileInfo) error {
	full := path.Join(w.top, name)
	info, err := w.root.Stat(full)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, info) }) {
		return fault(diag.CodeChartFiles, "remove the link: the chart would contain itself", "%s is a symbolic link to a directory that contains it", full)
	}
	dir, err := w.root.OpenRoot(full)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".") // sorted
	if err != nil {
		return err
	}
	above = append(slices.Clip(above), info)
	for _, e := range entries {
		isLink := e.Type()&fs.ModeSymlink != 0
		if git.IsDotGit(e.Name()) || isLink && w.where == "" {
			continue
		}
		from, at := dir, e.Name()
		if isLink {
			from, at = w.root, path.Join(full, at) // the link may lead anywhere below the root
			if err := outOfGit(w.root, at); err != nil {
				return err
			}
		}
		if err := w.one(path.Join(name, e.Name()), from, at, above); err != nil {
			return err
		}
	}
	return nil
}

// one reads the file or directory at the path at of from, under the given name
// relative to the chart.
func (w *walker) one(name string, from *os.Root, at string, above []fs.FileInfo) error {
	full := path.Join(w.top, name)
	info, err := from.Stat(at)
	if err != nil {
		if link, lerr := w.root.Lstat(full); lerr == nil && w.rules.Ignore(name, link) {
			return nil
		}
		return w.outer(name, full, err)
	}
	if w.rules.Ignore(name, info) {
		return nil
	}
	if err := w.entry(); err != nil {
		return err
	}
	if err := checkName(name); err != nil {
		return err
	}
	if info.IsDir() {
		return w.dir(name, above)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a directory", name)
	}
	f, err := from.Open(at)
	if err != nil {
		return fmt.Errorf("read %s: %w", full, err)
	}
	defer f.Close()
	content, err := w.file(f, name, info.Size())
	if err != nil {
		return err
	}
	w.files = append(w.files, fleet.File{Name: name, Data: bytes.TrimPrefix(content, []byte(bom))})
	return nil
}

// outer reads the file of the git repository to which a symbolic link out of the fleet
// leads. It returns the fault of the link if it leads elsewhere; err is why the fleet's
// root does not have the file.
func (w *walker) outer(name, full string, err error) error {
	fault := outside(w.root, full, w.where, err)
	base, aerr := filepath.Abs(w.root.Name())
	if aerr != nil {
		return fault
	}
	top := git.Top(base)
	prefix, rerr := filepath.Rel(top, base)
	if rerr != nil || prefix == "." {
		return fault
	}
	repository, oerr := os.OpenRoot(top)
	if oerr != nil {
		return fault
	}
	defer repository.Close()
	real, lerr := git.ResolveLink(repository, path.Join(filepath.ToSlash(prefix), full))
	if errors.Is(lerr, git.ErrGit) {
		return &diag.Diag{Code: diag.CodeChartPath, Msg: full + " " + lerr.Error(), Hint: "put the files into the fleet's repository", Cause: lerr}
	}
	if lerr != nil {
		return fault
	}
	if info, serr := repository.Stat(real); serr != nil || !info.Mode().IsRegular() {
		return fault
	}
	return w.one(name, repository, real, nil)
}

// filesDigest returns the sha256 over the sorted names and contents, each with its
// length as a prefix.
func filesDigest(files []fleet.File) string {
	sorted := slices.SortedFunc(slices.Values(files), func(a, b fleet.File) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	put := func(b []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		h.Write(b)
	}
	for _, f := range sorted {
		put([]byte(f.Name))
		put(f.Data)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// withoutIgnored removes the files that Helm would ignore when it reads a directory.
func withoutIgnored(files []fleet.File) ([]fleet.File, error) {
	rules := ignore.Empty()
	for _, f := range files {
		if f.Name == ignore.HelmIgnore {
			var err error
			if rules, err = parseIgnore(f.Data); err != nil {
				return nil, err
			}
		}
	}
	rules.AddDefaults()
	kept := slices.DeleteFunc(slices.Clone(files), func(f fleet.File) bool { return isIgnored(rules, f.Name) })
	if !slices.ContainsFunc(kept, func(f fleet.File) bool { return f.Name == "Chart.yaml" }) {
		return nil, errors.New(".helmignore excludes Chart.yaml")
	}
	return kept, nil
}

// isIgnored reports whether the rules ignore the file or one of its parent
// directories.
func isIgnored(rules *ignore.Rules, name string) bool {
	dir := (&tar.Header{Typeflag: tar.TypeDir}).FileInfo()
	for i, c := range name {
		if c == '/' && rules.Ignore(name[:i], dir) {
			return true
		}
	}
	return rules.Ignore(name, (&tar.Header{Typeflag: tar.TypeReg}).FileInfo())
}

func parseIgnore(text []byte) (*ignore.Rules, error) {
	rules, err := ignore.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ignore.HelmIgnore, err)
	}
	return rules, nil
}

// Files returns the files of the fleet's repository that a chart is read from,
// relative to its root: the files or archive of a chart by path, or the archive of a
// remote chart in vendor/charts. It includes the dependencies, uses no network, and
// returns the errors of [Source.Chart].
func (s *Source) Files(ctx context.Context, ref fleet.ChartRef) ([]string, error) {
	if err := checkRef(ref); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, fmt.Errorf("read the fleet's root: %w", err)
	}
	defer root.Close()
	var files []string
	for _, p := range s.pinnedFiles(ref) {
		if _, err := root.Lstat(filepath.FromSlash(p.name)); err == nil { // not vendored otherwise
			files = append(files, p.name)
		}
	}
	if ref.Path == "" {
		return files, nil
	}
	own, reads, err := s.local(ref)
	if err != nil {
		return nil, err
	}
	files = append(files, reads...)
	if !hasPaths(own) {
		return files, nil
	}
	c := s.dependencyBuilder(ref, own)
	c.find = func(context.Context, fleet.ChartRef) (fleet.ChartRef, error) { return fleet.ChartRef{}, nil }
	_, err = c.complete(ctx, ref, own, 0)
	return append(files, c.reads...), err
}

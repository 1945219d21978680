package chart

import (
	"archive/tar"
	"bytes"
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

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/links"
)

// local reads a chart that is a directory or an archive below the root. reads are the
// files that it reads, relative to the root.
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
		files, err = readDir(root, name)
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
		return nil, nil, &diag.Diag{Msg: fmt.Sprintf("%s: %s", name, err), Cause: err}
	}
	return files, reads, nil
}

// outOfGit returns a fault when a path leads into the directory of git, which may have
// credentials.
func outOfGit(root *os.Root, name string) error {
	if _, err := links.Resolve(root, name); errors.Is(err, links.ErrGit) {
		return &diag.Diag{Msg: name + " " + err.Error(), Hint: "put the files into the fleet's repository", Cause: err}
	}
	return nil
}

// notThere explains why the chart's path leads nowhere.
func notThere(root *os.Root, name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return outside(root, name, err)
	}
	hint := "write the path relative to the fleet's root"
	siblings := chartsIn(root, path.Dir(name))
	if len(siblings) > 0 {
		hint = oneOf(name, siblings)
	}
	return &diag.Diag{Msg: name + " does not exist in the fleet's repository", Hint: hint, Cause: err}
}

// outside explains why a name below the root cannot be followed: os.Root does
// not go through links that leave it, and links are all that can.
func outside(root *os.Root, name string, err error) error {
	for at := name; at != "."; at = path.Dir(at) {
		if target, lerr := root.Readlink(at); lerr == nil {
			why := "leads out of the fleet's root"
			if errors.Is(err, fs.ErrNotExist) {
				why = "does not exist"
			}
			return &diag.Diag{
				Msg:  fmt.Sprintf("%s is a symbolic link to %s, which %s", at, target, why),
				Hint: "put the files into the fleet's repository", Cause: err,
			}
		}
	}
	return fmt.Errorf("read %s: %w", name, err)
}

// chartsIn returns the names of the charts that are in a directory, sorted.
func chartsIn(root *os.Root, dir string) []string {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return nil // a hint does not depend on it
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

// readArchive reads a chart that is packaged in the repository.
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

// readDir reads a chart as Helm reads a directory: files that .helmignore
// names are left out, and links are followed, here as far as the root goes. Otherwise
// than in Helm, the directory of git is not part of a chart at the repository's root.
func readDir(root *os.Root, name string) ([]fleet.File, error) {
	noChart := &diag.Diag{Msg: "no Chart.yaml in " + name}
	if _, err := root.Lstat(path.Join(name, "Chart.yaml")); err != nil {
		noChart.Hint = oneOf(name, chartsIn(root, name))
		return nil, noChart
	}
	w := walker{root: root, top: name, rules: ignore.Empty(), budget: budget{entries: maxEntries, bytes: maxTotal}}
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
		noChart.Hint = "let " + ignore.HelmIgnore + " keep it"
		return nil, noChart
	}
	return w.files, w.inner(w.files, 1)
}

// A walker collects the files of a directory.
type walker struct {
	budget
	root  *os.Root
	top   string
	rules *ignore.Rules
	files []fleet.File
}

// dir reads the directory with the given name below the chart, which it opens once
// for all that is in it. The directories that it is in are above.
func (w *walker) dir(name string, above []fs.FileInfo) error {
	full := path.Join(w.top, name)
	info, err := w.root.Stat(full)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, info) }) {
		return fault("remove the link: the chart would be in itself without end", "%s is a symbolic link to a directory that it is in", full)
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
		if links.IsGit(e.Name()) {
			continue
		}
		from, at := dir, e.Name()
		if e.Type()&fs.ModeSymlink != 0 {
			from, at = w.root, path.Join(full, at) // it may lead anywhere in there
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

// one reads the file or directory with the given name below the chart, which is
// at a path from somewhere.
func (w *walker) one(name string, from *os.Root, at string, above []fs.FileInfo) error {
	full := path.Join(w.top, name)
	info, err := from.Stat(at)
	if err != nil {
		if link, lerr := w.root.Lstat(full); lerr == nil && w.rules.Ignore(name, link) {
			return nil
		}
		return outside(w.root, full, err)
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
	w.files = append(w.files, fleet.File{Name: name, Data: content})
	return nil
}

// filesDigest is the sha256 over names and contents, sorted by name, each with
// its length before it.
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

// withoutIgnored leaves out the files that Helm would not read if they were a
// directory.
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
		return nil, errors.New("no Chart.yaml that .helmignore leaves in")
	}
	return kept, nil
}

// isIgnored reports whether the rules leave out the file or a directory that
// it is in.
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
// relative to its root: those of a chart by path that are part of the chart, or
// its archive; of another one its archive in vendor/charts, or none. Its dependencies
// are part of it. It errs as [Source.Chart] does, and uses no network.
func (s *Source) Files(ctx context.Context, ref fleet.ChartRef) ([]string, error) {
	if err := checkRef(ref); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, fmt.Errorf("read the fleet's root: %w", err)
	}
	defer root.Close()
	files := vendoredSchemas(root, ref)
	for _, of := range append(dependencies(ref), ref) {
		if of.Path != "" {
			continue
		}
		name := vendoredName(of)
		if _, err := root.Lstat(filepath.FromSlash(name)); err == nil { // or it comes from elsewhere
			files = append(files, name)
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
	c := s.completion(ref, own)
	c.find = func(context.Context, fleet.ChartRef) (fleet.ChartRef, error) { return fleet.ChartRef{}, nil }
	_, err = c.complete(ctx, ref, own, 0)
	return append(files, c.reads...), err
}

package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/git"
)

const (
	maxKustomizeFile  = 16 << 20  // bytes of a file
	maxKustomizeTotal = 256 << 20 // total bytes of the reads of a build
	maxKustomizeReads = 50_000    // number of the reads of a build
)

// A kustomizeTree is the file system for kustomize: read-only, with the fleet's root as
// "/". The content of a file never changes. A tree is not safe for concurrent
// use.
type kustomizeTree struct {
	ctx  context.Context
	root *os.Root

	files map[string][]byte // by path without the first slash
	also  map[string]bool   // other names of files that were read through links
	reads int
	bytes int
	spent bool // whether a read was refused because of the limits

	mounts map[string]fleet.FileTree // remote repositories, by directory in mounted

	// kustomization rewrites the content of kustomization files for kustomize.
	kustomization func(name string, data []byte) ([]byte, error)
}

var _ filesys.FileSystem = (*kustomizeTree)(nil)

// errSpent is the error of a build that exceeds the limits for reads.
var errSpent = fmt.Errorf("exceeds the limit of %d files or %d MiB for a build", maxKustomizeReads, maxKustomizeTotal>>20)

// inner returns a path of kustomize relative to the root, slash-separated, "."
// for the root.
func inner(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+filepath.ToSlash(name)), "/")
	if name == "" {
		return "."
	}
	return name
}

// real returns the path with all symbolic links resolved.
func (t *kustomizeTree) real(name string) (string, error) {
	name = inner(name)
	if place, rest := mountOf(name); place != "" {
		_, err := t.mountStat(place, rest)
		return name, err
	}
	return git.ResolveLink(t.root, name)
}

// stat returns the file info of a path, and follows links.
func (t *kustomizeTree) stat(name string) (fs.FileInfo, error) {
	real, err := t.real(name)
	if err != nil {
		return nil, err
	}
	return t.lstat(real)
}

// lstat returns the file info of a path without links.
func (t *kustomizeTree) lstat(real string) (fs.FileInfo, error) {
	if place, rest := mountOf(real); place != "" {
		return t.mountStat(place, rest)
	}
	return t.root.Lstat(filepath.FromSlash(real))
}

// read returns the content of a file.
func (t *kustomizeTree) read(name string) ([]byte, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	name = inner(name)
	data, ok := t.files[name]
	if !ok {
		var err error
		if data, err = t.load(name); err != nil {
			return nil, err
		}
		t.files[name] = data
	}
	t.reads++
	t.bytes += len(data)
	if t.reads > maxKustomizeReads || t.bytes > maxKustomizeTotal {
		t.spent = true
		return nil, errSpent
	}
	return data, nil
}

func (t *kustomizeTree) load(name string) ([]byte, error) {
	real, err := t.real(name)
	if err != nil {
		return nil, err
	}
	if place, rest := mountOf(real); place != "" {
		return t.mounts[place].Read(rest)
	}
	// Opening a pipe would block.
	if info, err := t.root.Lstat(filepath.FromSlash(real)); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("is not a file")
	}
	data, err := git.ReadFile(t.root, real, maxKustomizeFile)
	if err != nil {
		return nil, err
	}
	t.also[real] = true
	return data, nil
}

// names returns entries of a directory for a hint, sorted; none if it cannot be read.
func (t *kustomizeTree) names(dir string) []string {
	real, err := t.real(dir)
	if err != nil {
		return nil
	}
	names, err := entries(t.root, real)
	if err != nil {
		return nil
	}
	const enough = 10_000
	return names[:min(len(names), enough)]
}

// recorded returns all files of the fleet that were read, sorted. Files behind
// links have both names.
func (t *kustomizeTree) recorded() []string {
	names := slices.Collect(maps.Keys(t.files))
	names = slices.AppendSeq(names, maps.Keys(t.also))
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(name string) bool { place, _ := mountOf(name); return place != "" })
	return slices.Compact(names)
}

// ReadFile reads a file for kustomize.
func (t *kustomizeTree) ReadFile(name string) ([]byte, error) {
	name = inner(name)
	data, err := t.read(name)
	if err == nil && IsKustomization(name) {
		return t.kustomization(name, data)
	}
	return data, err
}

// CleanedAbs splits a path into a directory without links and a file.
func (t *kustomizeTree) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	real, err := t.real(name)
	if err != nil {
		return "", "", err
	}
	info, err := t.lstat(real)
	if err != nil {
		return "", "", err
	}
	dir, file := real, ""
	if !info.IsDir() {
		dir, file = path.Dir(real), path.Base(real)
	}
	return filesys.ConfirmedDir(filepath.FromSlash(path.Join("/", dir))), file, nil
}

// IsDir reports whether the path is a directory.
func (t *kustomizeTree) IsDir(name string) bool {
	info, err := t.stat(name)
	return err == nil && info.IsDir()
}

// Exists reports whether a path exists.
func (t *kustomizeTree) Exists(name string) bool {
	_, err := t.stat(name)
	return err == nil
}

// The remaining methods of the interface are not used by builds.

func (t *kustomizeTree) Create(string) (filesys.File, error)  { return nil, fs.ErrPermission }
func (t *kustomizeTree) Mkdir(string) error                   { return fs.ErrPermission }
func (t *kustomizeTree) MkdirAll(string) error                { return fs.ErrPermission }
func (t *kustomizeTree) RemoveAll(string) error               { return fs.ErrPermission }
func (t *kustomizeTree) Open(string) (filesys.File, error)    { return nil, fs.ErrPermission }
func (t *kustomizeTree) ReadDir(string) ([]string, error)     { return nil, fs.ErrPermission }
func (t *kustomizeTree) Glob(string) ([]string, error)        { return nil, fs.ErrPermission }
func (t *kustomizeTree) WriteFile(string, []byte) error       { return fs.ErrPermission }
func (t *kustomizeTree) Walk(string, filepath.WalkFunc) error { return fs.ErrPermission }

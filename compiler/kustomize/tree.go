package kustomize

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/fleetc/fleetc/compiler/links"
)

const (
	maxFile  = 16 << 20  // bytes of one file
	maxTotal = 256 << 20 // bytes that one build reads; a file that is read twice counts twice
	maxReads = 50_000    // files that one build reads, counted likewise
)

// A tree is the fleet's root as kustomize sees it: a file system of which "/"
// is the root, which cannot be left and cannot be written to. Every file has
// one content for as long as the tree is open. It serves one goroutine.
type tree struct {
	ctx  context.Context
	root *os.Root

	files map[string][]byte // by path without the first slash
	also  map[string]bool   // where files are that links lead to
	reads int
	bytes int
	spent bool // whether a file was refused for that

	mounts map[string]Files // remote places, by their directories in mounted

	// kustomization is given the content of every kustomization file, and
	// returns what kustomize shall see of it.
	kustomization func(name string, data []byte) ([]byte, error)
}

var _ filesys.FileSystem = (*tree)(nil)

// errSpent is that of a build that has read more than a build may.
var errSpent = fmt.Errorf("is beyond the %d files or %d MiB that a build reads", maxReads, maxTotal>>20)

// inner returns a path of kustomize's as one below the root, slash-separated;
// "." for the root.
func inner(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+filepath.ToSlash(name)), "/")
	if name == "" {
		return "."
	}
	return name
}

// real returns the path with all symbolic links resolved.
func (t *tree) real(name string) (string, error) {
	name = inner(name)
	if place, rest := mountOf(name); place != "" {
		_, err := t.mountStat(place, rest)
		return name, err
	}
	return links.Resolve(t.root, name)
}

// stat returns what is known of a file, with links followed.
func (t *tree) stat(name string) (fs.FileInfo, error) {
	real, err := t.real(name)
	if err != nil {
		return nil, err
	}
	return t.lstat(real)
}

// lstat returns what is known of a path without links.
func (t *tree) lstat(real string) (fs.FileInfo, error) {
	if place, rest := mountOf(real); place != "" {
		return t.mountStat(place, rest)
	}
	return t.root.Lstat(filepath.FromSlash(real))
}

// read returns the content of a file.
func (t *tree) read(name string) ([]byte, error) {
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
	if t.reads > maxReads || t.bytes > maxTotal {
		t.spent = true
		return nil, errSpent
	}
	return data, nil
}

func (t *tree) load(name string) ([]byte, error) {
	real, err := t.real(name)
	if err != nil {
		return nil, err
	}
	if place, rest := mountOf(real); place != "" {
		return t.mounts[place].Read(rest)
	}
	// Opening a pipe would wait for who writes to it.
	if info, err := t.root.Lstat(filepath.FromSlash(real)); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("is not a file")
	}
	f, err := t.root.Open(filepath.FromSlash(real))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("is larger than %d MiB", maxFile>>20)
	}
	t.also[real] = true
	return data, nil
}

// names returns what a directory has, sorted.
func (t *tree) names(dir string) []string {
	real, err := t.real(dir)
	if err != nil {
		return nil
	}
	f, err := t.root.Open(filepath.FromSlash(real))
	if err != nil {
		return nil
	}
	defer f.Close()
	const enough = 10_000 // for a hint
	names, err := f.Readdirnames(enough)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	slices.Sort(names)
	return names
}

// recorded returns all files of the fleet that were read, sorted. Files behind links
// have both of their names.
func (t *tree) recorded() []string {
	names := slices.Collect(maps.Keys(t.files))
	names = slices.AppendSeq(names, maps.Keys(t.also))
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(name string) bool { place, _ := mountOf(name); return place != "" })
	return slices.Compact(names)
}

// ReadFile is what kustomize reads files with.
func (t *tree) ReadFile(name string) ([]byte, error) {
	name = inner(name)
	data, err := t.read(name)
	if err == nil && isKustomization(name) {
		return t.kustomization(name, data)
	}
	return data, err
}

// CleanedAbs splits a path into a directory without links and a file.
func (t *tree) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
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
func (t *tree) IsDir(name string) bool {
	info, err := t.stat(name)
	return err == nil && info.IsDir()
}

// Exists reports whether there is something at the path.
func (t *tree) Exists(name string) bool {
	_, err := t.stat(name)
	return err == nil
}

// What follows is part of the interface, and no build has use for it.

func (t *tree) Create(string) (filesys.File, error)  { return nil, fs.ErrPermission }
func (t *tree) Mkdir(string) error                   { return fs.ErrPermission }
func (t *tree) MkdirAll(string) error                { return fs.ErrPermission }
func (t *tree) RemoveAll(string) error               { return fs.ErrPermission }
func (t *tree) Open(string) (filesys.File, error)    { return nil, fs.ErrPermission }
func (t *tree) ReadDir(string) ([]string, error)     { return nil, fs.ErrPermission }
func (t *tree) Glob(string) ([]string, error)        { return nil, fs.ErrPermission }
func (t *tree) WriteFile(string, []byte) error       { return fs.ErrPermission }
func (t *tree) Walk(string, filepath.WalkFunc) error { return fs.ErrPermission }

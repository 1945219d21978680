package kustomize

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/diag"
)

// Remotes returns what an address in a kustomization refers to; nil when it is not
// pinned. Its errors are faults without a place.
type Remotes func(ctx context.Context, address string) (*Remote, error)

// A Remote is a file or directory of another place.
type Remote struct {
	Name  string // of the place and its version, for people; two with the same name have the same files
	Path  string // of the file or directory in it
	Files Files
}

// Files are those of a remote place, by clean, slash-separated paths.
type Files interface {
	IsDir(name string) bool
	Read(name string) ([]byte, error) // fs.ErrNotExist when it has none of the name
}

// mounted is the directory, below the root, in which kustomize sees remote places. The
// fleet's own directory of that name is not seen.
const mounted = "fleetc-remote"

// maxRemotes is how many addresses one build follows, those in remote bases included.
const maxRemotes = 100

// mountOf returns the remote place that a path below the root is in; empty for the
// fleet's repository. rest is the path in the place.
func mountOf(name string) (place, rest string) {
	below, ok := strings.CutPrefix(path.Clean(filepath.ToSlash(name)), mounted+"/")
	if !ok {
		return "", ""
	}
	place, rest, _ = strings.Cut(below, "/")
	if rest == "" {
		rest = "."
	}
	return place, rest
}

// plainName is a name with nothing in it that kustomize takes for a part of an address.
func plainName(name string) string {
	_, after, ok := strings.Cut(name, "://")
	if ok {
		name = after
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(".-@", r):
			return r
		}
		return '_'
	}, name)
	return strings.ReplaceAll(name, ".git", "")
}

// mount lets kustomize see what an address refers to, and returns its path below the
// root.
func (b *build) mount(pos diag.Pos, address string) (string, bool) {
	if b.mounts++; b.mounts > maxRemotes {
		b.fault(pos, fmt.Sprintf("more than %d remote addresses in one kustomization", maxRemotes), "make it several releases")
		return "", false
	}
	found, err := b.remotes(b.tree.ctx, address)
	if b.tree.ctx.Err() != nil {
		return "", false
	}
	if err != nil {
		for _, d := range diag.All(err) {
			of := b.at(pos, d.Msg, d.Hint)
			of.At = slices.Concat(d.At, of.At)
			b.faults.Add(of)
		}
		return "", false
	}
	if found == nil {
		b.fault(pos, address+" is remote, and not pinned", "run fleetc source add "+b.dir+", which pins it")
		return "", false
	}
	place := plainName(found.Name)
	b.tree.mounts[place] = found.Files
	return path.Join(mounted, place, found.Path), true
}

// remoteEntry checks an entry of resources or components that is an address, and
// returns the path that kustomize is to see in its place; the entry when it is not to.
func (b *build) remoteEntry(f *file, pos diag.Pos, address, kind string) string {
	name, ok := b.mount(pos, address)
	if !ok {
		return address
	}
	switch place, _ := mountOf(name); {
	case b.tree.IsDir(name):
		f.include(b.directory(pos, name, kind))
	case !b.tree.Exists(name):
		b.fault(pos, address+": "+place+" does not have it", "correct the path in the address")
	default:
		b.objectFile(f, pos, name, address)
	}
	relative, err := filepath.Rel("/"+f.dir, "/"+name)
	if err != nil {
		return address
	}
	f.rewritten = true
	return filepath.ToSlash(relative)
}

// seen returns what kustomize sees of a kustomization: itself, with paths in the place
// of addresses.
func (f *file) seen(data []byte) ([]byte, error) {
	if !f.rewritten {
		return data, nil
	}
	return sigsyaml.Marshal(f.k)
}

// mountInfo describes a file or directory of a remote place.
type mountInfo struct {
	name  string
	isDir bool
}

// Methods of [fs.FileInfo].
func (i mountInfo) Name() string { return i.name }
func (mountInfo) Size() int64    { return 0 }
func (i mountInfo) Mode() fs.FileMode {
	if i.isDir {
		return fs.ModeDir
	}
	return 0
}
func (mountInfo) ModTime() time.Time { return time.Time{} }
func (i mountInfo) IsDir() bool      { return i.isDir }
func (mountInfo) Sys() any           { return nil }

// mountStat describes what is at a path in a remote place. The place answers
// whether a file exists by reading it.
func (t *tree) mountStat(place, rest string) (fs.FileInfo, error) {
	files := t.mounts[place]
	switch {
	case files == nil:
		return nil, fs.ErrNotExist
	case files.IsDir(rest):
		return mountInfo{path.Base(rest), true}, nil
	}
	if _, err := files.Read(rest); err != nil {
		return nil, err
	}
	return mountInfo{path.Base(rest), false}, nil
}

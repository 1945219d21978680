package source

import (
	"archive/tar"
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// KustomizeRemotes resolves an address in a kustomization. It returns nil if the address
// is not pinned. Its errors are faults without a position.
type KustomizeRemotes func(ctx context.Context, address string) (*fleet.RemoteFiles, error)

// mounted is the directory below the root where kustomize sees remote
// repositories. A directory of the fleet with this name is hidden.
const mounted = "fleetc-remote"

// maxRemotes is the maximum number of addresses in a build, including those in
// remote bases.
const maxRemotes = 100

// mountOf returns the remote repository that contains a path, and the path in
// it. place is empty for the fleet's repository.
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

// plainName returns a name without characters that are special in addresses.
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

// mount makes the target of an address visible for kustomize, and returns its
// path below the root.
func (b *build) mount(pos diag.Pos, address string) (string, bool) {
	if b.mounts++; b.mounts > maxRemotes {
		b.fault(pos, fmt.Sprintf("more than %d remote addresses in one kustomization", maxRemotes), "make it several releases")
		return "", false
	}
	found, err := b.Remotes(b.tree.ctx, address)
	if b.tree.ctx.Err() != nil {
		return "", false
	}
	if err != nil {
		for _, d := range diag.All(err) {
			of := b.at(d.Code, pos, d.Msg, d.Hint)
			of.At = slices.Concat(d.At, of.At)
			b.faults.Add(of)
		}
		return "", false
	}
	if found == nil {
		b.faults.Add(b.at(diag.CodeUnpinnedSource, pos, address+" is remote, and not pinned", "run fleetc source add "+b.dir+", which pins it"))
		return "", false
	}
	place := plainName(found.Name)
	b.tree.mounts[place] = found.Files
	return path.Join(mounted, place, found.Path), true
}

// remoteEntry checks an address in resources or components, and returns its
// replacement for kustomize, or the entry after a fault.
func (b *build) remoteEntry(f *kustomizeFile, pos diag.Pos, address, kind string) string {
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

// rewrite returns the content of a kustomization with paths in the place of
// addresses.
func (f *kustomizeFile) rewrite(data []byte) ([]byte, error) {
	if !f.rewritten {
		return data, nil
	}
	return sigsyaml.Marshal(f.k)
}

// mountStat returns the file info of a path in a remote repository. It reads a
// file to find out whether it exists.
func (t *kustomizeTree) mountStat(place, rest string) (fs.FileInfo, error) {
	files := t.mounts[place]
	switch {
	case files == nil:
		return nil, fs.ErrNotExist
	case files.IsDir(rest):
		return (&tar.Header{Name: rest, Typeflag: tar.TypeDir}).FileInfo(), nil
	}
	if _, err := files.Read(rest); err != nil {
		return nil, err
	}
	return (&tar.Header{Name: rest, Typeflag: tar.TypeReg}).FileInfo(), nil
}

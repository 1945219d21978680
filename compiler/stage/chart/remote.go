package chart

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// checkSource returns a fault for a pin that `source add` cannot have written.
func checkSource(src fleet.RemoteSource) error {
	again := "run fleetc source add again"
	if src.IsChart() {
		if ref := src.Chart; ref.Path != "" || ref.Git.URL != "" || src.Address != ref.Location() && !strings.HasPrefix(src.Address, ref.Location()+"@") {
			return fault(diag.CodePin, again, "%s: the pin is for another chart: %s", src, oneLine(ref.String()))
		}
		return checkRef(src.Chart)
	}
	git, err := parseAddress(src.Address)
	if err != nil {
		return err
	}
	if !digestForm.MatchString(src.Digest) {
		return fault(diag.CodePin, again, "%s: the digest %q is not sha256: and 64 hexadecimal digits", src, src.Digest)
	}
	if git.URL != src.Git.URL || git.Path != src.Git.Path {
		return fault(diag.CodePin, again, "%s: the pin is for another address: %s", src, oneLine(src.Git.URL))
	}
	if src.Git.URL == "" {
		return nil
	}
	if !fullHash.MatchString(src.Git.Ref) {
		return fault(diag.CodePin, again, "%s: %q is not a commit", src, src.Git.Ref)
	}
	for _, dir := range src.Dirs {
		if dir != "." && (path.Clean(dir) != dir || checkPath(dir) != nil || checkName(dir) != nil) {
			return fault(diag.CodePin, again, "%s: %q is not a directory of a git repository", src, dir)
		}
	}
	return nil
}

// Remote returns the files of a pinned source by path, from the fleet's repository,
// the store or the network. The path of a single file is its base name.
func (s *Source) Remote(ctx context.Context, src fleet.RemoteSource) (map[string][]byte, error) {
	if err := checkSource(src); err != nil {
		return nil, err
	}
	data, err := s.read(ctx, s.remote(src))
	if err != nil {
		return nil, err
	}
	if src.Git.URL == "" {
		return map[string][]byte{path.Base(src.Address): data}, nil
	}
	b := budget{entries: maxEntries, bytes: maxTotal}
	files, err := b.untar(data)
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeChartFiles, Msg: fmt.Sprintf("%s: %s", src, err), Hint: "use another ref of the repository", Cause: err}
	}
	out := map[string][]byte{}
	for _, f := range files {
		out[f.Name] = f.Data
	}
	return out, nil
}

// remote returns the content of a pinned source that is not a chart.
func (s *Source) remote(src fleet.RemoteSource) pinnedFile {
	return pinnedFile{
		name: vendoredSource(src), kind: "source", of: src.Address, digest: src.Digest,
		download: func(ctx context.Context) ([]byte, error) {
			return bounded(ctx, src.Address, func(ctx context.Context) ([]byte, error) {
				if src.Git.URL == "" {
					return s.getFile(ctx, src.Address)
				}
				var data []byte
				err := s.inRepo(ctx, src.Git.URL, func(g gitRepo) error {
					files, err := openGitFiles(ctx, g, src.Git.Ref)
					if err == nil {
						data, err = files.archive(ctx, src.Dirs)
					}
					return err
				})
				return data, err
			})
		},
		missing: func(state) error {
			return fault(diag.CodeNotInStore, "run fleetc vet --render once with the network", "%s is not in the store, and the network is off", src)
		},
		changed: func(got string) error {
			return fault(diag.CodeDigestMismatch, "the content was changed: check it, then run fleetc source add again",
				"%s has the digest %s, its pin says %s", src, got, src.Digest)
		},
	}
}

// getFile downloads a file of Kubernetes objects.
func (s *Source) getFile(ctx context.Context, at string) ([]byte, error) {
	data, err := s.get(ctx, at, at, maxSchema, otherURL)
	if err == nil && len(bytes.TrimSpace(data)) == 0 {
		return nil, fault(diag.CodeChartNotFound, otherURL, "%s is empty", at)
	}
	return data, err
}

// VerifyRemote checks a pinned source like [Source.Verify].
func (s *Source) VerifyRemote(ctx context.Context, src fleet.RemoteSource) error {
	if err := checkSource(src); err != nil {
		return err
	}
	if src.IsChart() {
		return s.Verify(ctx, src.Chart)
	}
	_, err := s.verify(ctx, s.remote(src))
	return err
}

// vendoredSource returns the path of a pinned source in the fleet's repository.
func vendoredSource(src fleet.RemoteSource) string {
	const short = 12
	plain := func(name string) string { return notInName.ReplaceAllString(name, "_") }
	end := "-" + strings.TrimPrefix(src.Digest, "sha256:")[:short]
	if src.Git.URL != "" {
		return vendor + "/" + plain(path.Base(strings.TrimSuffix(src.Git.URL, ".git"))) + "-" + src.Git.Ref[:short] + end + ".tgz"
	}
	base := path.Base(src.Address)
	return vendor + "/" + plain(strings.TrimSuffix(base, path.Ext(base))) + end + ".yaml"
}

// RemoteFiles returns the file in the fleet's repository that has the pinned source,
// if any.
func (s *Source) RemoteFiles(src fleet.RemoteSource) []string {
	if checkSource(src) != nil || src.IsChart() {
		return nil
	}
	name := vendoredSource(src)
	if _, err := os.Lstat(filepath.Join(s.Root, filepath.FromSlash(name))); err != nil {
		return nil
	}
	return []string{name}
}

// gitFiles reads single files of a commit.
type gitFiles struct {
	ctx    context.Context
	repo   gitRepo
	commit string
	tree   *gitTree
	read   map[string][]byte // by path
	dirs   map[string]bool   // directories of the files that were read
}

// openGitFiles fetches a commit, tag or branch.
func openGitFiles(ctx context.Context, g gitRepo, ref string) (*gitFiles, error) {
	commit, err := g.fetch(ctx, ref)
	if err != nil {
		return nil, err
	}
	listing, err := g.list(ctx, commit)
	if err != nil {
		return nil, g.fault(err)
	}
	tree := newGitTree()
	if err := tree.add("", string(listing)); err != nil {
		return nil, err
	}
	f := &gitFiles{ctx: ctx, repo: g, commit: commit, tree: tree, read: map[string][]byte{}, dirs: map[string]bool{}}
	return f, g.readLinks(ctx, tree)
}

// IsDir reports whether the commit has the directory.
func (f *gitFiles) IsDir(name string) bool {
	_, e, err := f.tree.resolve(name)
	return err == nil && e.IsDir() && e.mode != submodule
}

// Read returns the content of a file.
func (f *gitFiles) Read(name string) ([]byte, error) {
	if data, ok := f.read[name]; ok {
		return data, nil
	}
	_, e, err := f.tree.resolve(name)
	switch {
	case err != nil:
		return nil, err
	case !e.mode.IsRegular():
		return nil, errors.New("is not a file")
	case e.size > maxFile:
		return nil, fmt.Errorf("is larger than %d MiB", maxFile>>20)
	}
	contents, err := f.repo.cat(f.ctx, []blob{{e.id, e.size, name}})
	if err != nil {
		return nil, err
	}
	f.read[name], f.dirs[path.Dir(name)] = contents[0], true
	return contents[0], nil
}

// archive packs the files of directories without their subdirectories. It leaves out
// files larger than the limit of kustomizations.
func (f *gitFiles) archive(ctx context.Context, dirs []string) ([]byte, error) {
	b := budget{entries: maxEntries, bytes: maxTotal}
	var blobs []blob
	for _, dir := range dirs {
		real, e, err := f.tree.resolve(dir)
		if err != nil || !e.IsDir() {
			return nil, fault(diag.CodeChartNotFound, "run fleetc source add again", "%s has no directory %s at %s", f.repo.url, dir, f.commit)
		}
		for _, base := range e.names {
			_, file, err := f.tree.resolve(path.Join(real, base))
			if err != nil || !file.mode.IsRegular() || file.size > maxFile {
				continue
			}
			name := path.Join(dir, base)
			if b.bytes -= file.size; b.bytes <= 0 {
				return nil, fault(diag.CodeChartFiles, "name a smaller directory of the repository", "%s: %s", f.repo.url, errTotal)
			}
			if err := cmp.Or(b.entry(), checkName(name)); err != nil {
				return nil, fault(diag.CodeChartFiles, "use another ref of the repository", "%s: %s", f.repo.url, err)
			}
			blobs = append(blobs, blob{file.id, file.size, name})
		}
	}
	slices.SortFunc(blobs, func(a, b blob) int { return strings.Compare(a.name, b.name) })
	contents, err := f.repo.cat(ctx, blobs)
	if err != nil {
		return nil, err
	}
	return canonicalTar(blobs, contents)
}
